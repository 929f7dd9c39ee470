-- The first schema. Layout and figures: docs/decisions/0002-sqlite-layout.md.
-- Times are milliseconds since 1970 unless their name says otherwise.

CREATE TABLE crawls(
  id INTEGER PRIMARY KEY AUTOINCREMENT,      -- never reused: caches of keys are keyed by it
  uuid TEXT NOT NULL UNIQUE,
  seeds TEXT NOT NULL,                       -- JSON array, as given
  settings TEXT NOT NULL,                    -- JSON, profiles.CrawlSettings
  fingerprint TEXT NOT NULL,                 -- of seeds and settings: the same command goes on with the same crawl
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  limited_by TEXT NOT NULL DEFAULT '',
  seeding INTEGER NOT NULL DEFAULT 1,
  joined_hosts TEXT NOT NULL DEFAULT '[]',   -- redirect targets of seeds
  control INTEGER NOT NULL DEFAULT 0,        -- control version of its last change
  pages_granted INTEGER NOT NULL DEFAULT 0,
  urls_granted INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  running_since INTEGER,
  active_ms INTEGER NOT NULL DEFAULT 0,      -- time spent running before running_since
  ended_at INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX crawls_fingerprint ON crawls(fingerprint);

CREATE TABLE control(version INTEGER NOT NULL);
INSERT INTO control VALUES(0);

-- One row per session: the lease and the fence.
CREATE TABLE workers(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL, pid INTEGER NOT NULL, version TEXT NOT NULL,
  flush_seq INTEGER NOT NULL DEFAULT 0,
  control_seen INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  fenced_at INTEGER,
  in_flight TEXT NOT NULL DEFAULT '[]'       -- JSON [[url id, since], ...]: display only
);
CREATE INDEX workers_live ON workers(id) WHERE fenced_at IS NULL;

CREATE TABLE partitions(
  part INTEGER PRIMARY KEY,
  owner INTEGER,                             -- workers.id
  offered_to INTEGER,
  load REAL NOT NULL DEFAULT 0,              -- pages a second it could do now, by its owner's estimate
  forced_at INTEGER                          -- set when it was taken from a dead session
);

-- The URLs of one crawl at one host. `due` is set exactly while it has open rows or is held.
CREATE TABLE queues(
  id INTEGER PRIMARY KEY AUTOINCREMENT,      -- never reused: sessions remember it
  crawl INTEGER NOT NULL, host TEXT NOT NULL, part INTEGER NOT NULL,
  due INTEGER,
  held INTEGER NOT NULL DEFAULT 0,           -- the worker that has it in memory; 0: free; -1: parked, its crawl is paused
  fetched INTEGER NOT NULL DEFAULT 0,
  dead TEXT NOT NULL DEFAULT '',             -- host_dead, limit_host: open rows end without a request
  UNIQUE(crawl, host)
);
CREATE INDEX queues_due ON queues(part, held, due) WHERE due IS NOT NULL;
CREATE INDEX queues_active ON queues(crawl, part) WHERE due IS NOT NULL;

-- Rows that a session inserted for a partition it does not own; the owner takes them.
CREATE TABLE arrivals(id INTEGER PRIMARY KEY, part INTEGER NOT NULL, queue INTEGER NOT NULL, crawl INTEGER NOT NULL);
CREATE INDEX arrivals_part ON arrivals(part);

-- The politeness clock of a host, over all crawls. Written by its owner only.
CREATE TABLE hosts(
  host TEXT PRIMARY KEY,
  next_at INTEGER NOT NULL, delay_ms INTEGER NOT NULL,
  latency_ms REAL, slowdown REAL NOT NULL, errors INTEGER NOT NULL, strikes INTEGER NOT NULL, nxdomain INTEGER NOT NULL,
  crawl_delay_ms INTEGER, override_ms INTEGER,
  rest_reason TEXT NOT NULL, requests INTEGER NOT NULL, addresses TEXT NOT NULL DEFAULT '', cnames TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE robots(
  host TEXT NOT NULL, origin TEXT NOT NULL,
  access TEXT NOT NULL, status INTEGER, body BLOB NOT NULL, expires_at INTEGER NOT NULL,
  failures INTEGER NOT NULL, detail TEXT NOT NULL, fetched_at INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY(host, origin)
) WITHOUT ROWID;

-- Every known URL, in order of discovery, narrow. state 0 is open; codes in models.STATE_CODES.
CREATE TABLE urls(
  id INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL, key BLOB NOT NULL,  -- key: 16 bytes of BLAKE2b of url
  prio INTEGER NOT NULL, not_before INTEGER NOT NULL DEFAULT 0,
  state INTEGER NOT NULL DEFAULT 0, page INTEGER,
  crawl INTEGER NOT NULL, depth INTEGER NOT NULL, kind INTEGER NOT NULL, hops INTEGER NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
  parent INTEGER, reason TEXT, url TEXT NOT NULL, raw TEXT
);
CREATE UNIQUE INDEX urls_key ON urls(queue, key);
CREATE INDEX urls_open ON urls(queue, not_before, prio) WHERE state = 0;  -- this is the frontier: it cannot disagree with urls

-- Outcomes that had an answer: append only, wide.
CREATE TABLE pages(
  id INTEGER PRIMARY KEY, url INTEGER NOT NULL,
  status INTEGER, content_type TEXT, body_bytes INTEGER NOT NULL, wire_bytes INTEGER NOT NULL, fetched_at INTEGER NOT NULL,
  dns_ms REAL, connect_ms REAL, tls_ms REAL, first_byte_ms REAL, total_ms REAL,
  ip TEXT, protocol TEXT, charset TEXT, title TEXT, facts TEXT, content_hash BLOB,
  file INTEGER, "offset" INTEGER, length INTEGER, truncated TEXT, redirect_to TEXT, error TEXT,
  links BLOB,                                -- per host: queue id (8 bytes), count (4), first 8 bytes of each key
  refused BLOB                               -- zlib of the refused links, one a line, capped
);

CREATE TABLE archive_files(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, worker INTEGER NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0,           -- durable and whole up to here
  open INTEGER NOT NULL DEFAULT 1, cut INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE grants(crawl INTEGER NOT NULL, worker INTEGER NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY(crawl, worker)) WITHOUT ROWID;
CREATE TABLE tallies(crawl INTEGER NOT NULL, worker INTEGER NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(crawl, worker, name)) WITHOUT ROWID;
CREATE TABLE refusals(crawl INTEGER NOT NULL, host TEXT NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(crawl, host, reason)) WITHOUT ROWID;
