import { useEffect } from "react";
import { useSearchParams } from "react-router";
import { Loading } from "../../look/States";
import { withParameters } from "../address";

/** One look for a name ends after many hosts: where it found nothing, the next begins by itself. */
export function LookOn({ next }: { next: string }) {
  const [, setSearch] = useSearchParams();
  useEffect(() => {
    setSearch((before) => withParameters(before, { after: next }), { replace: true });
  }, [next, setSearch]);
  return <Loading what="further hosts" />;
}
