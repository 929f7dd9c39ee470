import type { UrlDetail } from "../../../api/types";
import { Head } from "../../../look/Head";
import { Loading } from "../../../look/States";
import { many } from "../../../words/format";
import { ArchiveFailure, NotArchived, useArchived } from "./archived";
import { Part } from "./Parts";

/** As received, in their order: a name may come more than once. */
export function Headers({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  const { data, error, refetch } = useArchived(crawl, detail);
  if (!detail.archive_file) return <NotArchived detail={detail} />;
  if (!data) return error ? <ArchiveFailure error={error} retry={refetch} /> : <Loading what="headers" />;
  return (
    <Part title="Headers" note={`${many(data.headers.length, "line")}, as received`}>
      <table className="grid-table">
        <Head columns={[{ name: "Name" }, { name: "Value" }]} />
        <tbody>
          {data.headers.map(([name, value], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they never change, and their place is what tells them apart
            <tr key={at}>
              <td className="font-mono break-words text-dim">{name}</td>
              <td className="font-mono break-all">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}
