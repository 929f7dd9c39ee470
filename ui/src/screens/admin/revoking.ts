/** What follows from making and revoking tokens, said before it is done. */
import type { Me, Token } from "../../api/types";

export const living = (tokens: readonly Token[]) => tokens.filter(({ revoked_at }) => revoked_at === null);

/** Valid tokens first, then revoked ones; each by age. */
export function inOrder(tokens: readonly Token[]): Token[] {
  const rank = ({ revoked_at }: Token) => (revoked_at === null ? 0 : 1);
  return [...tokens].sort((a, b) => rank(a) - rank(b) || a.id - b.id);
}

/** The token that this tab uses, by its name: names of valid tokens are unique. */
export function isMine(token: Token, me: Me | undefined): boolean {
  return me?.token === true && token.revoked_at === null && token.name === me.name;
}

export function afterRevoking(token: Token, tokens: readonly Token[], me: Me | undefined): string[] {
  const left = living(tokens).filter(({ id }) => id !== token.id);
  const said = ["Whoever uses it is refused from now on."];
  if (!left.length) {
    said.push("It is the last one: without any, this machine itself may do everything and others nothing.");
  } else if (token.access === "admin" && !left.some(({ access }) => access === "admin")) {
    said.push("It is the last with access admin: only `nephila token create` on the server makes another.");
  }
  if (left.length && isMine(token, me)) said.push("It is the one of this tab: you will be asked for another.");
  return said;
}
