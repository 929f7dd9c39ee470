import type { Explanation } from "../../../api/types";
import { Moment } from "../../../look/Moment";
import { GoodWord } from "../../../look/Word";
import { count, words } from "../../../words/format";
import { Countdown, Fact, Facts, Part } from "./Parts";

export function RobotsPart({ robots, at }: { robots: NonNullable<Explanation["robots"]>; at: number }) {
  return (
    <Part title="robots.txt">
      <Facts>
        <Fact name="verdict">
          {robots.allowed === null ? "not known yet" : <GoodWord good={robots.allowed} yes="allowed" no="disallowed" />}
        </Fact>
        <Fact name="why">{robots.detail}</Fact>
        <Fact name="of">
          <span className="font-mono break-all">{robots.origin}</span>
        </Fact>
        <Fact name="access">{robots.access && words(robots.access)}</Fact>
        <Fact name="status">{robots.status !== null && <span className="font-mono">{robots.status}</span>}</Fact>
        <Fact name="fetched">{robots.fetched_at && <Moment at={robots.fetched_at} relative />}</Fact>
        <Fact name="asked again">
          {robots.expires_in_ms !== null && <Countdown restMs={robots.expires_in_ms} at={at} />}
        </Fact>
        <Fact name="failures">{robots.failures > 0 && count(robots.failures)}</Fact>
      </Facts>
    </Part>
  );
}
