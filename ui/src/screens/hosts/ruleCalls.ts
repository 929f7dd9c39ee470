import { client, queries } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { HostRule } from "../../api/types";
import type { RuleBody } from "./rules";

/** Reads the rule right before it is replaced as a whole: another operator may have changed it meanwhile. */
async function currentRule(host: string): Promise<HostRule | null> {
  try {
    const { data } = await client.GET("/api/v1/hosts/{host}", { params: { path: { host } } });
    return data?.rule ?? null;
  } catch (error) {
    if (asProblem(error).status === 404) return null;
    throw error;
  }
}

export async function replaceRule(host: string, body: (known: HostRule | null) => RuleBody): Promise<void> {
  const next = body(await currentRule(host));
  await client.PUT("/api/v1/hosts/{host}", { params: { path: { host } }, body: next });
  await queries.invalidateQueries();
}

export async function removeRule(host: string): Promise<void> {
  await client.DELETE("/api/v1/hosts/{host}", { params: { path: { host } } });
  await queries.invalidateQueries();
}

export async function blockDomain(host: string, reason: string): Promise<void> {
  await client.POST("/api/v1/blocks", { body: { kind: "domain", values: [host], reason } });
  await queries.invalidateQueries();
}
