import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../../api/client";
import type { Settings } from "../../api/types";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { type Place, useOwnOrder } from "../../look/ordering";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { count } from "../../words/format";
import { AdminOnly } from "./access";
import { Filter } from "./Filter";
import { useTyped } from "./useTyped";

type Setting = Settings["process"][number];

const COLUMNS: readonly Column[] = [
  { name: "Name", plain: true, sort: "name" },
  { name: "Value", sort: "value" },
  { name: "Default", sort: "default" },
  { name: "From", sort: "from" },
  { name: "What it does", plain: true, width: "min-w-64", unsorted: "sentences: filter by a word instead" },
];
const PLACES = {
  name: ({ name }) => name,
  value: ({ value }) => value || null,
  default: ({ default: usual }) => usual || null,
  from: ({ source }) => source,
} satisfies Record<string, Place<Setting>>;

export function ServerSettings() {
  return (
    <AdminOnly what="Looking at the settings of this server">
      <Lines />
    </AdminOnly>
  );
}

function Lines() {
  const { data, error, refetch } = api.useQuery("get", "/api/v1/settings", {}, { placeholderData: keepPreviousData });
  const [text, type] = useTyped("text");
  if (!data) {
    return error ? (
      <Failure error={error} what="The settings cannot be shown" retry={refetch} />
    ) : (
      <Loading what="settings" />
    );
  }
  const wanted = text.trim().toLowerCase();
  const shown = data.process.filter(({ name, help }) => `${name} ${help}`.toLowerCase().includes(wanted));
  return (
    <>
      <p className="max-w-prose text-dim">
        They are read when the server starts: by an option of <code className="font-mono">nephila serve</code>, else
        from the environment. Settings of crawls are in the form of a new crawl.
      </p>
      <Panel
        title={`Settings of this server (${count(shown.length)})`}
        flush
        actions={<Filter label="Filter settings" value={text} onChange={type} />}
      >
        {shown.length > 0 ? (
          <SettingsTable settings={shown} />
        ) : (
          <p className="p-3 text-dim">No setting has this text.</p>
        )}
      </Panel>
    </>
  );
}

function SettingsTable({ settings }: { settings: readonly Setting[] }) {
  const { rows, ordering } = useOwnOrder(settings, PLACES, null); // all settings are here
  return (
    <Grid wide caption="Settings of this server">
      <Head columns={COLUMNS} ordering={ordering} />
      <tbody>
        {rows.map(({ name, value, default: usual, source, help }) => (
          <tr key={name} tabIndex={-1}>
            <td className="main font-mono whitespace-nowrap">{name}</td>
            <td className={`max-w-80 font-mono break-all ${value === usual ? "" : "font-semibold"}`}>{value || "–"}</td>
            <td className="max-w-60 font-mono break-all text-dim">{usual || "–"}</td>
            <td className="whitespace-nowrap">{source}</td>
            <td className="text-dim">{help}</td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
