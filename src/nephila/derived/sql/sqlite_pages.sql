-- What every file of derived pages has: derived data, without migrations.

-- name: make
CREATE TABLE crawls(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, pages INTEGER NOT NULL);
CREATE TABLE marks(file TEXT PRIMARY KEY, "offset" INTEGER NOT NULL) WITHOUT ROWID;

-- name: drop
DROP TABLE IF EXISTS marks;
DROP TABLE IF EXISTS crawls;

-- name: marks
SELECT file, "offset" FROM marks;

-- name: mark_of
SELECT "offset" FROM marks WHERE file = ?;

-- name: set_mark
INSERT INTO marks VALUES (?, ?) ON CONFLICT DO UPDATE SET "offset" = excluded."offset";

-- name: forget_mark
DELETE FROM marks WHERE file = ?;

-- name: crawls
SELECT id, uuid FROM crawls;

-- name: count
SELECT coalesce(sum(pages), 0) FROM crawls;

-- name: count_crawl
INSERT INTO crawls VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET pages = pages + excluded.pages;

-- name: discount_crawl
UPDATE crawls SET pages = pages - ?2 WHERE id = ?1;

-- name: forget_crawl
DELETE FROM crawls WHERE id = ?;

-- name: crawls_of
SELECT id, crawl FROM documents WHERE id IN (SELECT value FROM json_each(?));

-- name: some_of_crawl
SELECT id FROM documents WHERE crawl = ? LIMIT ?;

-- name: take_out
DELETE FROM documents WHERE id = ?;
