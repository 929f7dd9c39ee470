import { useSearchParams } from "react-router";
import { withParameters } from "../address";
import { useTyping } from "../useTyping";

/** A filter in the address that is typed: the field is ahead of the address, which follows when the typing pauses. */
export function useTyped(name: string): [text: string, type: (text: string) => void] {
  const [search, setSearch] = useSearchParams();
  return useTyping(search.get(name) ?? "", (text) =>
    setSearch((before) => withParameters(before, { [name]: text }), { replace: true }),
  );
}
