-- The ledger of the follower in follower.db: without migrations, it may be deleted.

-- name: make
CREATE TABLE failed(name TEXT NOT NULL, version INTEGER NOT NULL, file TEXT NOT NULL, "offset" INTEGER NOT NULL, url INTEGER NOT NULL,
  tries INTEGER NOT NULL, skipped INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY (name, version, file, "offset")) WITHOUT ROWID;

-- name: drop
DROP TABLE IF EXISTS failed;

-- name: failed
SELECT file, "offset", url, tries, skipped, why FROM failed WHERE name = ? AND version = ? AND file = ? AND "offset" >= ? AND "offset" < ? ORDER BY "offset";

-- name: note
INSERT INTO failed VALUES (?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET url = excluded.url, tries = excluded.tries, skipped = excluded.skipped, why = excluded.why;

-- name: forget_older
DELETE FROM failed WHERE name = ? AND version < ?;

-- name: forget
DELETE FROM failed WHERE name = ? AND version = ? AND file = ? AND "offset" = ?;

-- name: skipped
SELECT file, "offset", url, tries, skipped, why FROM failed WHERE name = ? AND version = ? AND skipped ORDER BY file, "offset" LIMIT ?;

-- name: count_skipped
SELECT count(*) FROM failed WHERE name = ? AND version = ? AND skipped;

-- name: forget_file
DELETE FROM failed WHERE file = ?;
