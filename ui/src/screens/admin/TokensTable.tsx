import { useState } from "react";
import { api, queries } from "../../api/client";
import { forgetSecret } from "../../api/secret";
import type { Token } from "../../api/types";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { notice } from "../../look/Notice";
import { type Place, useOwnOrder } from "../../look/ordering";
import { afterRevoking, inOrder, isMine, living } from "./revoking";

const COLUMNS: readonly Column[] = [
  { name: "Name", plain: true, sort: "name" },
  { name: "Access", sort: "access" },
  { name: "Made", sort: "made" },
  { name: "Revoked", sort: "revoked" },
  { name: "Actions", hidden: true },
];
const PLACES = {
  name: ({ name }) => name,
  access: ({ access }) => access,
  made: ({ created_at }) => created_at,
  revoked: ({ revoked_at }) => revoked_at,
} satisfies Record<string, Place<Token>>;

export function TokensTable({ tokens }: { tokens: readonly Token[] }) {
  const [revoking, setRevoking] = useState<Token | null>(null);
  const { rows, ordering } = useOwnOrder(inOrder(tokens), PLACES, null); // all tokens are here
  return (
    <>
      <Grid wide caption="Access tokens">
        <Head columns={COLUMNS} ordering={ordering} />
        <tbody>
          {rows.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </tbody>
      </Grid>
      {revoking && <Revoke token={revoking} tokens={tokens} onClose={() => setRevoking(null)} />}
    </>
  );
}

function TokenRow({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
  const { data: me } = api.useQuery("get", "/api/v1/me", {}, { staleTime: 60_000 });
  return (
    <tr tabIndex={-1} className={token.revoked_at ? "text-dim" : ""}>
      <td className="main min-w-32 break-all">
        <bdi>{token.name}</bdi>
        {isMine(token, me) && <span className="text-dim"> (this tab)</span>}
      </td>
      <td>{token.access}</td>
      <td>
        <Moment at={token.created_at} relative />
      </td>
      <td>
        <Moment at={token.revoked_at} relative />
      </td>
      <td className="text-right">
        {!token.revoked_at && (
          <Button kind="quiet" aria-label={`Revoke the token ${token.name}`} onClick={onRevoke}>
            Revoke
          </Button>
        )}
      </td>
    </tr>
  );
}

interface RevokeProps {
  token: Token;
  tokens: readonly Token[];
  onClose: () => void;
}

function Revoke({ token, tokens, onClose }: RevokeProps) {
  const { data: me } = api.useQuery("get", "/api/v1/me", {}, { staleTime: 60_000 });
  const { mutateAsync } = api.useMutation("delete", "/api/v1/tokens/{token_id}");
  const run = async () => {
    await mutateAsync({ params: { path: { token_id: token.id } } });
    // A secret that no longer opens anything would be refused even where none is needed any more.
    if (isMine(token, me) || living(tokens).length <= 1) forgetSecret();
    notice(`The token ${token.name} is revoked.`);
    // Not awaited: with one's own token it fails, and the dialog is done all the same.
    void queries.invalidateQueries();
  };
  return (
    <Confirm title={`Revoke the token ${token.name}?`} action="Revoke it" danger run={run} onClose={onClose}>
      {afterRevoking(token, tokens, me).map((line) => (
        <p key={line}>{line}</p>
      ))}
    </Confirm>
  );
}
