import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { components } from "../../api/schema";
import { Grid } from "../../look/Grid";
import { Head } from "../../look/Head";
import { type Place, useOwnOrder } from "../../look/ordering";
import { Panel } from "../../look/Panel";
import { UrlText } from "../../look/UrlText";
import { count, many } from "../../words/format";
import { withParameters } from "../address";
import { HostLink } from "../hosts/HostLink";
import { refusalWords, settingWords } from "./refusals";

export type Refused = components["schemas"]["RefusedReasonView"];
type Group = components["schemas"]["RefusedGroupView"];
type Example = components["schemas"]["RefusedExampleView"];

/** What was refused for one reason: the rule that decides, by rule, by host, examples. */
export function RefusedPanel({ refused }: { refused: Refused }) {
  const unit = refused.what === "link" ? "Links" : "URLs";
  const named = refused.hosts.filter((group) => group.name);
  return (
    <Panel title={`${refusalWords(refused)}: ${many(refused.count, refused.what === "link" ? "link" : "URL")}`} flush>
      <div className="flex flex-col gap-3 py-2">
        <p className="px-3">
          <Decider refused={refused} />
          {refused.sampled && <span className="text-dim"> By rule and host: the first URLs only.</span>}
        </p>
        {refused.rules.length > 0 && (
          <Groups
            of="Rule"
            unit={unit}
            groups={refused.rules}
            partly={refused.sampled}
            name={(rule) => <code>{rule}</code>}
          />
        )}
        {named.length > 0 && (
          <Groups
            of="Host"
            unit={unit}
            groups={named}
            partly={refused.sampled || refused.hosts_more > 0}
            name={(host) => <HostLink host={host} />}
          />
        )}
        {refused.hosts_more > 0 && <p className="px-3 text-dim">{many(refused.hosts_more, "further host")}.</p>}
        {named.length === 0 && refused.rules.length === 0 && (
          <ul className="px-3">
            {refused.examples.map((example) => (
              <li key={example.url}>
                <OneExample example={example} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}

/** What decides, with a link to it. */
function Decider({ refused }: { refused: Refused }) {
  const setting = <code className="wrap-anywhere">{settingWords(refused)}</code>;
  switch (refused.decided_by) {
    case "block":
      return (
        <Link to="/admin" className="link">
          Block rules of operators
        </Link>
      );
    case "robots":
      return <>By robots.txt, which is shown with its host. {setting}</>;
    case "setting":
      return setting;
    default:
      return <>No crawl asks for what is no URL of the web.</>;
  }
}

interface GroupsProps {
  of: string;
  unit: string;
  groups: readonly Group[];
  partly: boolean; // there are more than these
  name: (name: string) => ReactNode;
}

const PARTLY = "only the most frequent are here";
const PLACES = { name: ({ name }) => name, count: ({ count: n }) => n } satisfies Record<string, Place<Group>>;

function Groups({ of, unit, groups, partly, name }: GroupsProps) {
  const usual = { sort: "count", order: "desc" } as const;
  const { rows, ordering } = useOwnOrder<Group, keyof typeof PLACES>(groups, PLACES, usual, partly ? PARTLY : "");
  return (
    <Grid wide>
      <Head
        columns={[
          { name: of, plain: true, sort: "name" },
          { name: unit, number: true, sort: "count" },
          { name: "For example", plain: true, unsorted: "these are examples" },
        ]}
        ordering={ordering}
      />
      <tbody>
        {rows.map((group) => (
          <tr key={group.name}>
            <td className="main max-w-72 wrap-anywhere">{name(group.name)}</td>
            <td className="number w-20">{count(group.count)}</td>
            <td className="w-2/3 max-w-96">
              {group.examples.map((example) => (
                <OneExample key={example.url} example={example} />
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

/** A refused URL; the page that links to it, or its own row, opens in the inspector. */
function OneExample({ example }: { example: Example }) {
  const [search] = useSearchParams();
  const inspected = example.url_id ?? example.found_on;
  return (
    <div className="flex min-w-0 items-baseline gap-2">
      <div className="min-w-0">
        <UrlText url={example.url} />
      </div>
      {inspected !== null && (
        <Link
          to={`?${withParameters(search, { inspect: String(inspected) })}`}
          className="link shrink-0"
          aria-label={`${example.url_id === null ? "Page that links to" : "Inspect"} ${example.url}`}
        >
          {example.url_id === null ? "page" : "inspect"}
        </Link>
      )}
    </div>
  );
}
