import { Link } from "react-router";
import { hostPath } from "../address";

export function HostLink({ host }: { host: string }) {
  return (
    <Link to={hostPath(host)} title={host} className="link block truncate font-mono">
      {host}
    </Link>
  );
}
