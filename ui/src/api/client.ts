import { QueryClient } from "@tanstack/react-query";
import createFetchClient, { type Middleware } from "openapi-fetch";
import createClient from "openapi-react-query";
import { connection } from "./connection";
import { Problem, problemOf, UNREACHABLE } from "./problem";
import type { paths } from "./schema";
import { secret } from "./secret";

const TRIES_MAX = 3;
const GATEWAY = new Set([502, 503, 504]);

/** Adds the token, and makes every answer that is no success an error of one kind. */
const honest: Middleware = {
  onRequest({ request }) {
    const token = secret();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  async onResponse({ response }) {
    connection.answered();
    if (response.ok) return undefined;
    if (response.status === 401) connection.refused();
    throw await problemOf(response);
  },
  onError({ error }) {
    if (error instanceof Problem) return error;
    if (error instanceof DOMException && error.name === "AbortError") return error;
    connection.lost();
    return new Problem(0, "unreachable", UNREACHABLE, "it is asked again by itself");
  },
};

export const client = createFetchClient<paths>({ baseUrl: window.location.origin });
client.use(honest);

/** `api.useQuery("get", "/api/v1/crawls", { params }, { refetchInterval })` */
export const api = createClient(client);

function again(tries: number, error: unknown): boolean {
  return error instanceof Problem && (error.unreachable || GATEWAY.has(error.status)) && tries < TRIES_MAX;
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: again, staleTime: 1000, refetchOnWindowFocus: true, networkMode: "always" },
    mutations: { networkMode: "always" },
  },
});

/** Live lists are asked for this often; the server keeps each answer for a second. */
export const LIVE_MS = 2000;
