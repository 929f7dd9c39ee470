/** Records of the API for tests, with what does not matter filled in. */
import type {
  Access,
  Block,
  BrokenUrl,
  Crawl,
  CrawlDetail,
  CrawlSetting,
  ErrorNote,
  Explanation,
  HostClock,
  HostRule,
  InLink,
  InLinkPage,
  Me,
  Overview,
  Page,
  Progress,
  Queue,
  SearchResult,
  SearchResults,
  Sitemap,
  Token,
  UrlRow,
  Worker,
} from "../api/types";
import type { KnownHost, RobotsText } from "../screens/hosts/types";

const AT = "2026-03-01T10:00:00Z";
const UUID = "00000000-0000-0000-0000-000000000007";
const SITE = "https://example.com/";
const HOST = "a.example";

export const aCaller = (access: Access = "admin", token = true): Me => ({ name: "ann", access, token });

export const NO_REQUISITES: Progress["requisites"] = {
  urls: 0,
  queued: 0,
  in_progress: 0,
  states: {},
  broken: 0,
  errors: {},
};

export const aCrawl = (fields: Partial<Crawl> = {}): Crawl => ({
  id: 7,
  crawl_id: UUID,
  name: "",
  labels: [],
  status: "running",
  reason: "",
  limited_by: "",
  seeding: false,
  root_url: SITE,
  seeds: [SITE],
  seeds_count: 1,
  requested_depth: 50,
  profile: "default",
  created_at: AT,
  ended_at: null,
  active_ms: 1000,
  states: { queued: 6, visited: 3, failed: 1 },
  errors: {},
  requests: 4,
  retries: 0,
  bytes: 1000,
  requisites: NO_REQUISITES,
  sitemaps: NO_REQUISITES,
  total: 10,
  completed: 3,
  pending: 6,
  in_progress: 0,
  failed: 1,
  ...fields,
});

export const aDetail = ({ settings = {}, ...fields }: Partial<CrawlDetail> = {}): CrawlDetail => ({
  ...aCrawl(fields),
  settings,
  cause: fields.cause ?? "",
  warnings: fields.warnings ?? [],
});

export const aProgress = (fields: Partial<Progress> = {}): Progress => ({
  crawl: 7,
  name: "",
  labels: [],
  crawl_id: UUID,
  status: "running",
  state: "running",
  reason: "",
  cause: "",
  limited_by: "",
  root_url: SITE,
  requested_depth: 50,
  seeds: [SITE],
  active_ms: 2000,
  urls: 12,
  total: 12,
  completed: 5,
  pending: 5,
  queued: 5,
  in_progress: 1,
  failed: 1,
  pages: 5,
  states: { visited: 5, failed: 1 },
  requests: 6,
  retries: 0,
  bytes: 2000,
  requisites: NO_REQUISITES,
  sitemaps: NO_REQUISITES,
  errors: { timeout: 1 },
  rate: 2,
  eta_seconds: 3,
  bounded_by: null,
  waiting: "",
  resting: null,
  hosts: [],
  workers: [],
  final: false,
  ...fields,
});

export const aQueue = (fields: Partial<Queue> = {}): Queue => ({
  host: "example.com",
  open: 10,
  due_in_ms: 0,
  held_by: null,
  fetched: 2,
  delay_ms: 1000,
  dead: "",
  open_more: false,
  ...fields,
});

export const aRow = (id: number, fields: Partial<UrlRow> = {}): UrlRow => ({
  id,
  kind: "page",
  url: `${SITE}${id}`,
  state: "visited",
  reason: "",
  status: 200,
  content_type: "text/html; charset=utf-8",
  depth: 1,
  discovered_from: 1,
  raw_url: null,
  spelling: null,
  title: `Page ${id}`,
  content_hash: null,
  bytes: 1234,
  fetched_at: AT,
  latency_ms: 40,
  retries: 0,
  archive_file: "a-1.warc.gz",
  archive_offset: 10,
  archive_length: 500,
  redirect_to: null,
  host: "example.com",
  not_before_in_ms: 0,
  claimed_by: null,
  claimed_at: null,
  updated_at: AT,
  error: null,
  ...fields,
});

export const anExplanation = (row: UrlRow, fields: Partial<Explanation> = {}): Explanation => ({
  crawl: 7,
  crawl_state: "completed",
  asked: row.url,
  url: row.url,
  verdict: `It ended ${row.state}.`,
  dispatch: null,
  rules: [
    { rule: "scope", passed: true, detail: "domain" },
    { rule: "depth", passed: false, detail: "9, at most 5" },
    { rule: "traps", passed: null, detail: "not asked" },
  ],
  row,
  facts: {},
  parents: [{ id: 1, url: SITE, depth: 0, state: "visited" }],
  redirects: [],
  queue: aQueue({ open: 3, held_by: 2 }),
  held_by: null,
  host: null,
  host_rule: null,
  delays: [
    ["crawl_delay", 2000],
    ["floor", 1000],
  ],
  robots: null,
  refusals: [["scope", 12]],
  requisite: null,
  sitemap: null,
  ...fields,
});

export const aPage = (row: UrlRow, fields: Partial<Page> = {}): Page => ({
  url: row,
  fetched_at: AT,
  ip: "192.0.2.9",
  status: 200,
  headers: [["Content-Type", "text/html"]],
  body: "<h1>One</h1>",
  body_bytes: 40,
  charset: "utf-8",
  truncated: false,
  facts: {},
  redirects: [],
  ...fields,
});

export const aClock = (fields: Partial<HostClock> = {}, pace: Partial<HostClock["pace"]> = {}): HostClock => ({
  host: HOST,
  next_in_ms: 0,
  delay_ms: 1000,
  requests: 3,
  rest_reason: "",
  addresses: "",
  cnames: "",
  pace: {
    latency_ms: null,
    slowdown: 1,
    errors: 0,
    strikes: 0,
    crawl_delay_ms: null,
    override_ms: null,
    nxdomain: 0,
    ...pace,
  },
  ...fields,
});

export const aRule = (fields: Partial<HostRule> = {}): HostRule => ({
  host: HOST,
  delay_ms: null,
  blocked_in_ms: null,
  reason: "",
  created_by: "ann",
  created_at: AT,
  ...fields,
});

export const aHost = (fields: Partial<KnownHost> = {}): KnownHost => ({
  clock: aClock(),
  rule: null,
  robots_version: 1,
  robots_access: "rules",
  ...fields,
});

export const aRobots = (fields: Partial<RobotsText> = {}): RobotsText => ({
  origin: `https://${HOST}`,
  access: "rules",
  status: 200,
  expires_in_ms: 60_000,
  failures: 0,
  detail: "",
  fetched_at: AT,
  text: "User-agent: *",
  truncated: false,
  ...fields,
});

export const aWorker = (id: number, fields: Partial<Worker> = {}): Worker => ({
  id,
  name: `host-${id}`,
  pid: 1000 + id,
  version: "1.0",
  started_at: AT,
  seen_at: AT,
  alive: true,
  partitions: 16,
  in_flight: 0,
  flushes: 12_345,
  vitals: {
    pages: 99,
    pages_per_s: 12.3,
    cpu: 0.5,
    rss_bytes: 80_000_000,
    received_per_s: 1_500_000,
    sent_per_s: 20_000,
  },
  current: [],
  ...fields,
});

export const anOverview = (fields: Partial<Overview> = {}): Overview => ({
  crawls: { running: 1, completed: 1, paused: 0, ending: 0, cancelled: 0, failed: 0 },
  queued: 2600,
  in_progress: 96,
  workers_alive: 2,
  workers_known: 3,
  pages_per_s: 12.4,
  cpu: 0.5,
  rss_bytes: 160_000_000,
  received_per_s: 3_000_000,
  sent_per_s: 40_000,
  errors_last_hour: 4,
  sizes: { urls: 1000, pages: 900, received_bytes: 5e6, store_bytes: 1e6, archive_bytes: 2e6 },
  process: { pid: 77, started_at: AT, cpu_seconds: 12, rss_bytes: 1e8, local_workers: 2, waiting: "" },
  derivations: [{ name: "search", version: 2, pages: 900, pending_bytes: 0, skipped: 0 }],
  ...fields,
});

export const aBlock = (id: number, value: string, fields: Partial<Block> = {}): Block => ({
  id,
  kind: "domain",
  value,
  reason: "spam",
  created_by: "ann",
  created_at: AT,
  ...fields,
});

export const anError = (id: number, fields: Partial<ErrorNote> = {}): ErrorNote => ({
  id,
  at: AT,
  worker: 1,
  crawl: 7,
  url_id: 70 + id,
  url: `${SITE}${id}`,
  reason: "timeout",
  detail: "after 10 s",
  tries: 3,
  ...fields,
});

export const aToken = (id: number, access: Access = "admin", revoked_at: string | null = null): Token => ({
  id,
  name: `token-${id}`,
  access,
  created_at: AT,
  revoked_at,
});

export const aSetting = (name: string, plain: unknown, fields: Partial<CrawlSetting> = {}): CrawlSetting => ({
  name,
  help: `what ${name} does`,
  default: plain,
  type: {},
  admin: false,
  ...fields,
});

export const aResult = (url_id: number, fields: Partial<SearchResult> = {}): SearchResult => ({
  crawl_id: 7,
  crawl_uuid: UUID,
  url_id,
  url: `${SITE}${url_id}`,
  host: "example.com",
  title: `Page ${url_id}`,
  snippet: [
    { text: "the ", match: false },
    { text: "golden", match: true },
    { text: " silk", match: false },
  ],
  fetched_at: AT,
  score: 1,
  ...fields,
});

export const anAnswer = (results: SearchResult[], fields: Partial<SearchResults> = {}): SearchResults => ({
  results,
  total: results.length,
  total_exact: true,
  indexed: 100,
  pending_bytes: 0,
  words: ["golden"],
  ...fields,
});

export const aSitemap = (fields: Partial<Sitemap> = {}): Sitemap => ({
  id: 3,
  url: `${SITE}sitemap.xml`,
  state: "visited",
  reason: "",
  status: 200,
  found: "named in robots.txt of example.com",
  found_in: null,
  format: "urlset",
  entries: 12,
  admitted: 9,
  images: 0,
  videos: 0,
  news: 0,
  alternates: 0,
  problem: "",
  ...fields,
});

export const anInLink = (id: number, fields: Partial<InLink> = {}): InLink => ({
  id,
  url: `${SITE}${id}`,
  title: `Page ${id}`,
  text: `words of ${id}`,
  rel: "",
  via: null,
  ...fields,
});

export const inLinks = (links: InLink[], fields: Partial<InLinkPage> = {}): InLinkPage => ({
  links,
  total: links.length,
  total_exact: true,
  pending_bytes: 0,
  ...fields,
});

export const aBrokenUrl = (id: number, links: InLink[] = [], fields: Partial<BrokenUrl> = {}): BrokenUrl => ({
  id,
  url: `${SITE}${id}`,
  state: "not_found",
  reason: "",
  status: 404,
  error: null,
  fetched_at: AT,
  linked: { links, total: links.length, total_exact: true },
  ...fields,
});
