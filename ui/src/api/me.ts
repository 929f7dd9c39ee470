import { api } from "./client";
import type { Access } from "./types";

const RANK: Record<Access, number> = { read: 0, write: 1, admin: 2 };

/** Whether this user has the access; false until it is known. Actions that are not allowed are not offered. */
export function useMay(needed: Access): boolean {
  const { data } = api.useQuery("get", "/api/v1/me", {}, { staleTime: 60_000 });
  return data ? RANK[data.access] >= RANK[needed] : false;
}
