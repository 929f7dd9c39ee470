-- The ledger of the follower in the database of the store: without migrations, it may be dropped.

-- name: exists
SELECT to_regclass('follower_failed') IS NOT NULL;

-- name: lock
-- Two who make a table at once would meet in the catalog of the database.
SELECT pg_advisory_xact_lock(%s);

-- name: make
CREATE TABLE IF NOT EXISTS follower_failed(name text, version integer, file text, "offset" bigint, url bigint NOT NULL, tries integer NOT NULL,
  skipped boolean NOT NULL, why text NOT NULL, PRIMARY KEY (name, version, file, "offset"));

-- name: failed
SELECT file, "offset", url, tries, skipped, why FROM follower_failed
WHERE name = %s AND version = %s AND file = %s AND "offset" >= %s AND "offset" < %s ORDER BY "offset";

-- name: note
INSERT INTO follower_failed VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (name, version, file, "offset") DO UPDATE SET url = excluded.url, tries = excluded.tries, skipped = excluded.skipped, why = excluded.why;

-- name: forget_older
DELETE FROM follower_failed WHERE name = %s AND version < %s;

-- name: forget
DELETE FROM follower_failed WHERE name = %s AND version = %s AND file = %s AND "offset" = ANY(%s);

-- name: skipped
SELECT file, "offset", url, tries, skipped, why FROM follower_failed WHERE name = %s AND version = %s AND skipped ORDER BY file, "offset" LIMIT %s;

-- name: count_skipped
SELECT count(*) FROM follower_failed WHERE name = %s AND version = %s AND skipped;

-- name: forget_files
DELETE FROM follower_failed WHERE file = ANY(%s);
