import { type ReactNode, useState } from "react";
import { asProblem } from "../api/problem";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface Props {
  title: string; // names the thing: "Cancel crawl 7?"
  action: string; // the word on the button
  run: () => Promise<unknown>;
  onClose: () => void;
  danger?: boolean;
  children: ReactNode; // what will happen
}

/** Asks before an action. A failure is shown in the dialog, which stays open. */
export function Confirm({ title, action, run, onClose, danger = false, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const go = async () => {
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setProblem(asProblem(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="flex flex-col gap-2 text-dim">{children}</div>
      {problem && (
        <p role="alert" className="mt-3 text-danger">
          {problem}
        </p>
      )}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it as it is</Button>
        <Button kind={danger ? "danger" : "primary"} busy={busy} onClick={go}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
