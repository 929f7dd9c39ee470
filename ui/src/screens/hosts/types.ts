import type { paths } from "../../api/schema";

type Answer<P extends "/api/v1/hosts" | "/api/v1/hosts/{host}/robots"> =
  paths[P]["get"]["responses"][200]["content"]["application/json"];

export type KnownHost = Answer<"/api/v1/hosts">["hosts"][number];
export type RobotsText = Answer<"/api/v1/hosts/{host}/robots">["robots"][number];
export type Tried = paths["/api/v1/robots/trial"]["post"]["responses"][200]["content"]["application/json"];
