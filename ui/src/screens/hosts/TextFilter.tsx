import { useSearchParams } from "react-router";
import { withParameters } from "../address";
import { useTyping } from "../useTyping";

interface Props {
  label: string;
  placeholder: string;
}

/** Filters by the parameter `text` of the address, a moment after the last key. */
export function TextFilter({ label, placeholder }: Props) {
  const [search, setSearch] = useSearchParams();
  const [typed, type] = useTyping(search.get("text") ?? "", (text) => {
    setSearch((before) => withParameters(before, { text, after: null }), { replace: true });
  });
  return (
    <input
      data-filter
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      maxLength={200}
      autoComplete="off"
      onChange={(event) => type(event.target.value)}
      className="input max-w-72"
    />
  );
}
