import { api } from "../../api/client";
import type { CrawlDetail } from "../../api/types";
import { Head } from "../../look/Head";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { type OwnSetting, ownSettings, valueText } from "./differing";

/** The settings in which it differs from its profile. */
export function OwnSettings({ detail }: { detail: CrawlDetail }) {
  const { data, error, refetch } = api.useQuery("get", "/api/v1/settings", {}, { staleTime: 60_000 });
  const title = `Settings beside the profile ${detail.profile}`;
  if (!data) {
    return (
      <Panel title={title}>
        {error ? (
          <Failure error={error} what="The settings cannot be read" retry={refetch} />
        ) : (
          <Loading what="settings" />
        )}
      </Panel>
    );
  }
  const own = ownSettings(detail.settings, data.crawl, data.profiles[detail.profile] ?? {});
  if (own.length === 0) {
    return (
      <Panel title={title}>
        <p className="text-dim">None: all is as the profile has it.</p>
      </Panel>
    );
  }
  return (
    <Panel title={title} flush>
      <SettingTable own={own} />
    </Panel>
  );
}

function SettingTable({ own }: { own: readonly OwnSetting[] }) {
  return (
    <table className="grid-table">
      <Head columns={[{ name: "Setting" }, { name: "Here" }, { name: "In the profile" }]} />
      <tbody>
        {own.map(({ name, value, usual, help }) => (
          <tr key={name}>
            <td title={help} className="font-mono wrap-anywhere">
              {name}
            </td>
            <td className="max-w-60 font-mono wrap-anywhere">{valueText(name, value)}</td>
            <td className="max-w-60">
              <span title={valueText(name, usual)} className="block truncate font-mono text-dim">
                {valueText(name, usual)}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
