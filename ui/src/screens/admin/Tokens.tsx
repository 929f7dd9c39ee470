import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import type { Token } from "../../api/types";
import { Panel } from "../../look/Panel";
import { Empty, Failure, Loading } from "../../look/States";
import { count } from "../../words/format";
import { AdminOnly } from "./access";
import { type Made, NewToken } from "./NewToken";
import { living } from "./revoking";
import { SecretDialog } from "./SecretDialog";
import { TokensTable } from "./TokensTable";

export function Tokens() {
  return (
    <AdminOnly what="Looking at tokens">
      <TokenList />
    </AdminOnly>
  );
}

function TokenList() {
  const [made, setMade] = useState<Made | null>(null);
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/tokens",
    {},
    { refetchInterval: 10_000, placeholderData: keepPreviousData },
  );
  if (!data) {
    return error ? (
      <Failure error={error} what="The tokens cannot be shown" retry={refetch} />
    ) : (
      <Loading what="tokens" />
    );
  }
  const first = living(data.tokens).length === 0;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Known tokens={data.tokens} />
      <NewToken first={first} onMade={setMade} />
      {made && <SecretDialog made={made} onClose={() => setMade(null)} />}
    </div>
  );
}

function Known({ tokens }: { tokens: Token[] }) {
  if (!tokens.length) {
    return (
      <Empty title="There are no tokens.">
        <p>Until there is one, only this machine itself is served, and it may do everything.</p>
        <p>The first token opens the server to those who have it, wherever they are.</p>
      </Empty>
    );
  }
  return (
    <Panel title={`Tokens (${count(living(tokens).length)})`} flush>
      <TokensTable tokens={tokens} />
    </Panel>
  );
}
