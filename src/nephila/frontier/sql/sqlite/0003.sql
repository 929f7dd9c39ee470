-- What operators decide, what the API remembers, and the order of its listings.

ALTER TABLE control ADD COLUMN floor_ms INTEGER NOT NULL DEFAULT 0;      -- of every delay, in all crawls

ALTER TABLE crawls ADD COLUMN created_by TEXT NOT NULL DEFAULT '';       -- name of the token; empty: a command

CREATE TABLE blocks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, value TEXT NOT NULL,
  reason TEXT NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL,
  UNIQUE(kind, value)
);

CREATE TABLE host_rules(
  host TEXT PRIMARY KEY, delay_ms INTEGER, blocked_until INTEGER,
  reason TEXT NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tokens(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, access TEXT NOT NULL,
  digest BLOB NOT NULL UNIQUE,               -- SHA-256 of the secret, which is nowhere
  created_at INTEGER NOT NULL, revoked_at INTEGER
);
CREATE UNIQUE INDEX tokens_living ON tokens(name) WHERE revoked_at IS NULL;

-- Visits that went wrong: the latest of them (store.ERRORS_KEPT), few enough to be read through.
CREATE TABLE errors(
  id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, worker INTEGER NOT NULL, crawl INTEGER NOT NULL, url INTEGER NOT NULL,
  reason TEXT NOT NULL, detail TEXT NOT NULL, tries INTEGER NOT NULL
);

-- Requests that may come twice, and the crawl that the first one made.
CREATE TABLE request_keys(key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, crawl INTEGER NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX request_keys_created ON request_keys(created_at);
CREATE INDEX request_keys_crawl ON request_keys(crawl);

-- Listings. Ids grow, so a new URL goes to the end of its crawl's range; most URLs are visited in the end, which the second one never hears of.
CREATE INDEX urls_crawl ON urls(crawl);
CREATE INDEX urls_ended ON urls(crawl, state) WHERE state > 1;
