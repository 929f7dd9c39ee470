-- The first schema. Layout and figures: docs/decisions/0008-postgres-layout.md.
-- Times are milliseconds since 1970 by the clock of this server, unless their name says otherwise.
-- What only grows (urls, pages) is never updated; what churns (frontier, queues, hosts, workers) is narrow and tuned for it.

-- Says that these tables are ours, and which of the numbered files made them.
CREATE TABLE nephila_schema(version integer NOT NULL);
INSERT INTO nephila_schema VALUES (0);

CREATE TABLE crawls(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid text NOT NULL UNIQUE,
  seeds text NOT NULL,                       -- JSON array, as given
  settings jsonb NOT NULL,                   -- profiles.CrawlSettings
  fingerprint text NOT NULL,                 -- of seeds and settings: the same command goes on with the same crawl
  state text NOT NULL,
  reason text NOT NULL DEFAULT '',
  limited_by text NOT NULL DEFAULT '',
  seeding boolean NOT NULL DEFAULT true,
  joined_hosts text NOT NULL DEFAULT '[]',   -- JSON array of redirect targets of seeds
  control bigint NOT NULL DEFAULT 0,         -- control version of its last change
  pages_granted bigint NOT NULL DEFAULT 0,
  urls_granted bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  running_since bigint,
  active_ms bigint NOT NULL DEFAULT 0,       -- time spent running before running_since
  ended_at bigint,
  deleted boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX crawls_fingerprint ON crawls USING hash(fingerprint);  -- of any length

CREATE TABLE control(version bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO control VALUES (0);

-- One row per session: the lease, the fence and the heartbeat.
CREATE TABLE workers(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session text NOT NULL UNIQUE,
  name text NOT NULL, pid integer NOT NULL, version text NOT NULL,
  flush_seq bigint NOT NULL DEFAULT 0,
  control_seen bigint NOT NULL DEFAULT 0,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  fenced_at bigint,
  in_flight text NOT NULL DEFAULT '[]',      -- JSON [[url id, since], ...]: display only
  pages bigint NOT NULL DEFAULT 0, pages_per_s real NOT NULL DEFAULT 0,
  cpu real NOT NULL DEFAULT 0,               -- cores in use
  rss_bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX workers_live ON workers(id) WHERE fenced_at IS NULL;

CREATE TABLE partitions(
  part smallint PRIMARY KEY,
  owner integer,                             -- workers.id
  offered_to integer,
  load double precision NOT NULL DEFAULT 0,  -- requests a second, by its owner's count
  forced_at bigint                           -- set when it was taken from a dead session
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

-- The URLs of one crawl at one host. `due` is set exactly while it has open rows or is held.
CREATE TABLE queues(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  crawl integer NOT NULL, host text NOT NULL, part smallint NOT NULL,
  due bigint,
  held integer NOT NULL DEFAULT 0,           -- the worker that has it in memory; 0: free; -1: parked, its crawl is paused
  fetched integer NOT NULL DEFAULT 0,
  dead text NOT NULL DEFAULT '',             -- host_dead, limit_host: open rows end without a request
  UNIQUE(crawl, host)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queues_due ON queues(part, held, due) WHERE due IS NOT NULL;
CREATE INDEX queues_active ON queues(crawl, part) WHERE due IS NOT NULL;

-- Rows that a session inserted for a partition it does not own; the owner takes them.
CREATE TABLE arrivals(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  part smallint NOT NULL, queue bigint NOT NULL, crawl integer NOT NULL
) WITH (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX arrivals_part ON arrivals(part, id);

-- The politeness clock of a host, over all crawls. Written by its owner only. No column of an index changes: updates stay HOT.
CREATE TABLE hosts(
  host text PRIMARY KEY,
  next_at bigint NOT NULL, delay_ms integer NOT NULL,
  latency_ms double precision, slowdown double precision NOT NULL, errors integer NOT NULL, strikes integer NOT NULL, nxdomain integer NOT NULL,
  crawl_delay_ms bigint, override_ms bigint,
  rest_reason text NOT NULL, requests bigint NOT NULL, addresses text NOT NULL DEFAULT '', cnames text NOT NULL DEFAULT ''
) WITH (fillfactor = 60, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE robots(
  host text NOT NULL, origin text NOT NULL,
  access text NOT NULL, status integer, body bytea NOT NULL, expires_at bigint NOT NULL,
  failures integer NOT NULL, detail text NOT NULL, fetched_at bigint NOT NULL, version integer NOT NULL DEFAULT 1,
  PRIMARY KEY(host, origin)
);

-- Every known URL, in order of discovery. Written once.
CREATE TABLE urls(
  id bigint GENERATED ALWAYS AS IDENTITY (CACHE 32) PRIMARY KEY,  -- without the cache a tenth of an insert's time
  queue bigint NOT NULL, parent bigint, crawl integer NOT NULL,
  depth integer NOT NULL, prio integer NOT NULL, kind smallint NOT NULL, hops smallint NOT NULL,
  key bytea NOT NULL,                        -- 16 bytes of BLAKE2b of url
  url text NOT NULL, raw text
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
CREATE UNIQUE INDEX urls_key ON urls(queue, key);
CREATE INDEX urls_crawl ON urls(crawl, id);

-- The open ones among them: a row here is the permit to write an outcome.
CREATE TABLE frontier(
  url bigint PRIMARY KEY,
  queue bigint NOT NULL, not_before bigint NOT NULL DEFAULT 0,
  prio integer NOT NULL,
  tries smallint NOT NULL DEFAULT 0, crashes smallint NOT NULL DEFAULT 0, reason text
) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX frontier_next ON frontier(queue, not_before, prio, url);

-- Every outcome, also of URLs that no request was sent for. Written once, wide.
CREATE TABLE pages(
  url bigint PRIMARY KEY, crawl integer NOT NULL,
  fetched_at bigint NOT NULL, body_bytes bigint NOT NULL, wire_bytes bigint NOT NULL, "offset" bigint, length bigint,
  status integer, file integer,
  dns_ms real, connect_ms real, tls_ms real, first_byte_ms real, total_ms real,
  state smallint NOT NULL, tries smallint NOT NULL, reason text,
  content_type text, ip text, protocol text, charset text, title text, facts text, content_hash bytea,
  truncated text, redirect_to text, error text,
  links bytea,                               -- per host: queue id (8 bytes), count (4), first 8 bytes of each key
  refused bytea                              -- zlib of the refused links, one a line, capped
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
ALTER TABLE pages ALTER COLUMN links SET STORAGE EXTERNAL, ALTER COLUMN refused SET STORAGE EXTERNAL;  -- neither compresses
CREATE INDEX pages_state ON pages(crawl, state, url);

CREATE TABLE archive_files(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, worker integer NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,           -- durable and whole up to here
  open boolean NOT NULL DEFAULT true, cut bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Counted by session and summed on read: no row is hot.
CREATE TABLE grants(crawl integer NOT NULL, worker integer NOT NULL, pages bigint NOT NULL, PRIMARY KEY(crawl, worker)) WITH (fillfactor = 50);
CREATE TABLE tallies(crawl integer NOT NULL, worker integer NOT NULL, name text NOT NULL, n bigint NOT NULL, PRIMARY KEY(crawl, worker, name))
  WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE refusals(crawl integer NOT NULL, worker integer NOT NULL, host text NOT NULL, reason text NOT NULL, n bigint NOT NULL,
  PRIMARY KEY(crawl, worker, host, reason)) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
