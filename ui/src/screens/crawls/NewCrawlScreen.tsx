import { Link } from "react-router";
import { api } from "../../api/client";
import { Page } from "../../look/Page";
import { Failure, Loading } from "../../look/States";
import { CrawlFormView } from "./new/CrawlFormView";

const CRUMBS = [{ to: "/crawls", text: "Crawls" }];
const FRESH_MS = 60_000; // they change with the server's version only

/** Start a crawl: the form is made from what the server says of its settings. */
export function NewCrawlScreen() {
  const settings = api.useQuery("get", "/api/v1/settings", {}, { staleTime: FRESH_MS, refetchOnWindowFocus: false });
  const me = api.useQuery("get", "/api/v1/me", {}, { staleTime: FRESH_MS });
  return (
    <Page title="New crawl" crumbs={CRUMBS} json="/api/v1/settings">
      {me.data?.access === "read" && <ReadOnly name={me.data.name} />}
      {settings.data ? (
        <CrawlFormView settings={settings.data} />
      ) : settings.error ? (
        <Failure error={settings.error} what="The settings cannot be shown" retry={() => settings.refetch()} />
      ) : (
        <Loading what="the settings" />
      )}
    </Page>
  );
}

function ReadOnly({ name }: { name: string }) {
  return (
    <p role="status" className="rounded border border-warn bg-warn-ground px-3 py-1.5 text-warn">
      The token {name} may only look: to start a crawl, enter one with access write, or send this address to someone who
      has one.{" "}
      <Link to="/crawls" className="underline">
        All crawls
      </Link>
    </p>
  );
}
