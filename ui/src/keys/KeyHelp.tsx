import { Button } from "../look/Button";
import { Dialog } from "../look/Dialog";
import { PLACES } from "./keys";

const OTHERS: [string, string][] = [
  ["/", "to the filter of the screen"],
  ["Tab", "into a table and out of it"],
  ["up, down", "between the rows of a table and its head"],
  ["left, right", "between the links and buttons of a row"],
  ["Home, End, Page", "far in a table"],
  ["Enter", "opens the row"],
  ["Esc", "closes what is open"],
  ["?", "this list"],
];

export function KeyHelp({ onClose }: { onClose: () => void }) {
  const places = Object.entries(PLACES).map(([key, place]) => [`g ${key}`, place.text] as [string, string]);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {[...places, ...OTHERS].map(([key, text]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-panel px-1.5 font-mono">{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <div className="mt-4 flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
