import { Link } from "react-router";
import { Empty, Failure } from "../../look/States";
import type { GraphData } from "./graphData";
import { progressWords } from "./sentences";
import type { Drawn } from "./useStage";
import { NO_WEBGL } from "./webgl";

interface Props {
  data: GraphData;
  drawn: Drawn;
  pictured: boolean;
  total: number | null;
  over: boolean;
  retry: () => void;
}

/** What stands where the picture would be. */
export function Instead({ data, drawn, pictured, total, over, retry }: Props) {
  const nodes = data.nodes.length;
  if (!data.nodesRead) {
    if (data.error) return <Failure error={data.error} what="The graph could not be read" retry={retry} />;
    return <Progress text={progressWords(nodes, total)} />;
  }
  if (!nodes) return <Nothing over={over} />;
  if (drawn === "impossible") return <Empty title="No picture">{NO_WEBGL}</Empty>;
  return pictured ? null : <Progress text={`Laying out ${progressWords(nodes, null)}`} />;
}

function Progress({ text }: { text: string }) {
  return (
    <p role="status" className="inline-block rounded border border-line bg-raised px-3 py-2 tabular-nums">
      {text}
    </p>
  );
}

function Nothing({ over }: { over: boolean }) {
  return (
    <Empty title="There is nothing to draw.">
      {over ? (
        <>
          <p>This crawl has found no page.</p>
          <Link to="../urls" relative="path" className="link">
            See its URLs
          </Link>
        </>
      ) : (
        <p>The first pages appear here as soon as the crawl has found them.</p>
      )}
    </Empty>
  );
}
