import { useSearchParams } from "react-router";
import { withParameters } from "../address";
import { useTyping } from "../useTyping";

interface Props {
  label: string;
  placeholder: string;
  keepPage?: boolean; // it filters the page that is shown; else it begins again at the first one
}

/** Filters by the parameter `text` of the address, a moment after the last key. */
export function TextFilter({ label, placeholder, keepPage = false }: Props) {
  const [search, setSearch] = useSearchParams();
  const [typed, type] = useTyping(search.get("text") ?? "", (text) => {
    const changes = { text, ...(keepPage ? {} : { after: null }) };
    setSearch((before) => withParameters(before, changes), { replace: true });
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
