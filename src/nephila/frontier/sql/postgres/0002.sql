-- What operators decide, and what the API remembers.

ALTER TABLE control ADD COLUMN floor_ms bigint NOT NULL DEFAULT 0;      -- of every delay, in all crawls

ALTER TABLE crawls ADD COLUMN created_by text NOT NULL DEFAULT '';       -- name of the token; empty: a command

CREATE TABLE blocks(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, value text NOT NULL,
  reason text NOT NULL, created_by text NOT NULL, created_at bigint NOT NULL
);
CREATE UNIQUE INDEX blocks_value ON blocks(kind, md5(value));  -- of any length

CREATE TABLE host_rules(
  host text PRIMARY KEY, delay_ms bigint, blocked_until bigint,
  reason text NOT NULL, created_by text NOT NULL, created_at bigint NOT NULL
);

CREATE TABLE tokens(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, access text NOT NULL,
  digest bytea NOT NULL UNIQUE,              -- SHA-256 of the secret, which is nowhere
  created_at bigint NOT NULL, revoked_at bigint
);
CREATE UNIQUE INDEX tokens_living ON tokens(name) WHERE revoked_at IS NULL;

-- Visits that went wrong: the latest of them (store.ERRORS_KEPT), few enough to be read through.
CREATE TABLE errors(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, worker integer NOT NULL, crawl integer NOT NULL, url bigint NOT NULL,
  reason text NOT NULL, detail text NOT NULL, tries integer NOT NULL
) WITH (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

-- Requests that may come twice, and the crawl that the first one made.
CREATE TABLE request_keys(key text PRIMARY KEY, fingerprint text NOT NULL, crawl integer, created_at bigint NOT NULL);
CREATE INDEX request_keys_created ON request_keys(created_at);
CREATE INDEX request_keys_crawl ON request_keys(crawl);
