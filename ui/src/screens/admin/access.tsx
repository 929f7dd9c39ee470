import type { ReactNode } from "react";
import { api } from "../../api/client";
import { Failure, Loading } from "../../look/States";

/** Shows a section to admins. Until the access of this user is known, nothing is refused. */
export function AdminOnly({ what, children }: { what: string; children: ReactNode }) {
  const { data, error, refetch } = api.useQuery("get", "/api/v1/me", {}, { staleTime: 60_000 });
  if (data?.access === "admin") return children;
  if (data) return <NeedsAdmin what={what} name={data.name} access={data.access} />;
  return error ? (
    <Failure error={error} what="Your access is not known" retry={refetch} />
  ) : (
    <Loading what="your access" />
  );
}

function NeedsAdmin({ what, name, access }: { what: string; name: string; access: string }) {
  return (
    <p className="rounded border border-line bg-panel p-3">
      {what} needs a token with access admin; <bdi className="font-medium">{name}</bdi> has {access}.
    </p>
  );
}

/** Says that changing needs more access than looking. */
export function ChangeNeedsAdmin() {
  return <p className="text-dim">To change this you need a token with access admin.</p>;
}
