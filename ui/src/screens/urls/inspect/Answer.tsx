import type { UrlDetail } from "../../../api/types";
import { Copy } from "../../../look/Copy";
import { Moment } from "../../../look/Moment";
import { bytes, count, words } from "../../../words/format";
import { numberFact, otherFacts, textFact } from "./facts";
import { Headers } from "./Headers";
import { Fact, Facts, Part } from "./Parts";
import { Waterfall } from "./Waterfall";

const TRUNCATED: ReadonlyMap<string, string> = new Map([
  ["length", "it was longer than this crawl reads"],
  ["time", "it took longer than this crawl waits"],
  ["disconnect", "the connection broke"],
]);

/** What the server said, how long each part of it took, and what of it is kept. */
export function Answer({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  const other = otherFacts(detail.facts);
  return (
    <div className="flex flex-col gap-4">
      <Summary detail={detail} />
      <Waterfall timing={detail.facts.timing} />
      {other.length > 0 && (
        <Part title="What the page says of itself">
          <Facts>
            {other.map(([name, value]) => (
              <Fact key={name} name={name}>
                <bdi className="break-words">{value}</bdi>
              </Fact>
            ))}
          </Facts>
        </Part>
      )}
      <Archive detail={detail} />
      <Headers crawl={crawl} detail={detail} />
    </div>
  );
}

function Summary({ detail }: { detail: UrlDetail }) {
  const { facts } = detail;
  const wire = numberFact(facts, "wire_bytes");
  const truncated = textFact(facts, "truncated");
  return (
    <Part title="Answer">
      <Facts>
        <Fact name="status">
          {detail.status === null ? "none" : <span className="font-mono">{detail.status}</span>}
        </Fact>
        <Fact name="title">{detail.title && <bdi>{detail.title}</bdi>}</Fact>
        <Fact name="type">{detail.content_type && <bdi className="font-mono">{detail.content_type}</bdi>}</Fact>
        <Fact name="charset">{textFact(facts, "charset")}</Fact>
        <Fact name="size">{detail.bytes !== null && bytes(detail.bytes)}</Fact>
        <Fact name="on the wire">{!!wire && bytes(wire)}</Fact>
        <Fact name="cut short">{truncated && (TRUNCATED.get(truncated) ?? words(truncated))}</Fact>
        <Fact name="fetched">{detail.fetched_at && <Moment at={detail.fetched_at} />}</Fact>
        <Fact name="retries">{detail.retries > 0 && count(detail.retries)}</Fact>
        <Fact name="address">{<Mono text={textFact(facts, "ip")} />}</Fact>
        <Fact name="protocol">{textFact(facts, "protocol")}</Fact>
        <Fact name="leads to">{detail.redirect_to && <Mono text={detail.redirect_to} />}</Fact>
        <Fact name="error">{detail.error && <bdi>{detail.error}</bdi>}</Fact>
      </Facts>
    </Part>
  );
}

function Archive({ detail }: { detail: UrlDetail }) {
  if (!detail.archive_file) return null;
  return (
    <Part title="Archive">
      <Facts>
        <Fact name="file">
          <Mono text={detail.archive_file} />
        </Fact>
        <Fact name="offset">{detail.archive_offset !== null && <Mono text={count(detail.archive_offset)} />}</Fact>
        <Fact name="length">{detail.archive_length !== null && `${bytes(detail.archive_length)}, compressed`}</Fact>
        <Fact name="SHA-256">
          {detail.content_hash && (
            <>
              <Mono text={detail.content_hash} /> <Copy text={detail.content_hash} />
            </>
          )}
        </Fact>
      </Facts>
    </Part>
  );
}

function Mono({ text }: { text: string }) {
  return text ? <bdi className="font-mono break-all">{text}</bdi> : <span className="text-dim">–</span>;
}
