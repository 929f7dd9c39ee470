import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import type { HostRule } from "../../api/types";
import { Button } from "../../look/Button";
import { Page } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { HostFactsPanels } from "./HostFactsPanels";
import { RobotsPanels } from "./RobotsPanels";
import { BlockDialog, BlockDomain, DelayDialog, RemoveRule } from "./RuleDialogs";

const CRUMBS = [{ to: "/hosts", text: "Hosts" }];

export function HostScreen() {
  const { host = "" } = useParams();
  return <OneHost key={host} host={host} />;
}

function OneHost({ host }: { host: string }) {
  const { data, error, refetch, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/hosts/{host}",
    { params: { path: { host } } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  const admin = useMay("admin");
  const unknown = !data && error && asProblem(error).status === 404;
  return (
    <Page
      title={host}
      crumbs={CRUMBS}
      json={`/api/v1/hosts/${encodeURIComponent(host)}`}
      actions={admin && <HostActions host={host} rule={data?.rule ?? null} />}
    >
      {!data && !error && <Loading what={host} />}
      {unknown && <UnknownHost host={host} />}
      {!data && error && !unknown && <Failure error={error} what={`${host} cannot be read`} retry={refetch} />}
      {data && (
        <>
          <HostFactsPanels facts={data} readAt={dataUpdatedAt} />
          <RobotsPanels host={host} />
        </>
      )}
    </Page>
  );
}

function UnknownHost({ host }: { host: string }) {
  return (
    <Empty title={`Nothing is known of ${host}.`}>
      <p>No crawl has asked it for anything yet, and no operator has set a rule for it.</p>
      <Link to="/hosts" className="link">
        All hosts that are known
      </Link>
    </Empty>
  );
}

type Asked = "block" | "delay" | "remove" | "domain";

function HostActions({ host, rule }: { host: string; rule: HostRule | null }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  return (
    <>
      <Button onClick={() => setAsked("block")}>Block for</Button>
      <Button onClick={() => setAsked("delay")}>Override delay</Button>
      {rule && <Button onClick={() => setAsked("remove")}>Remove the rule</Button>}
      <Button kind="danger" onClick={() => setAsked("domain")}>
        Block this domain everywhere
      </Button>
      {asked === "block" && <BlockDialog host={host} onClose={close} />}
      {asked === "delay" && <DelayDialog host={host} onClose={close} />}
      {asked === "remove" && rule && <RemoveRule host={host} rule={rule} onClose={close} />}
      {asked === "domain" && <BlockDomain host={host} onClose={close} />}
    </>
  );
}
