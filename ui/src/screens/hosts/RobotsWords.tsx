import { accessWords } from "./delays";

interface Props {
  host: { robots_access: string | null; robots_version: number | null };
}

/** What the robots.txt of a host in a list allows, and which version of it. */
export function RobotsWords({ host: { robots_access, robots_version } }: Props) {
  return (
    <>
      {accessWords(robots_access)}
      {robots_version !== null && <span className="text-dim"> v{robots_version}</span>}
    </>
  );
}
