-- The full-text index in search.db: derived data, without migrations.

-- name: make
CREATE TABLE crawls(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, documents INTEGER NOT NULL);
CREATE TABLE marks(file TEXT PRIMARY KEY, "offset" INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(id INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, host TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,
  fetched_at INTEGER NOT NULL, text BLOB NOT NULL);
CREATE INDEX documents_crawl ON documents(crawl);
CREATE VIRTUAL TABLE words USING fts5(place, title, body, rest, content = '', contentless_delete = 1, tokenize = 'ascii');

-- name: drop
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS documents;
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
SELECT coalesce(sum(documents), 0) FROM crawls;

-- name: crawls_of
SELECT id, crawl FROM documents WHERE id IN (SELECT value FROM json_each(?));

-- name: some_of_crawl
SELECT id FROM documents WHERE crawl = ? LIMIT ?;

-- name: take_out
DELETE FROM documents WHERE id = ?;

-- name: take_out_words
DELETE FROM words WHERE rowid = ?;

-- name: put_in
INSERT INTO documents VALUES (?,?,?,?,?,?,?);

-- name: put_in_words
INSERT INTO words(rowid, place, title, body, rest) VALUES (?,?,?,?,?);

-- name: count_crawl
INSERT INTO crawls VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET documents = documents + excluded.documents;

-- name: discount_crawl
UPDATE crawls SET documents = documents - ?2 WHERE id = ?1;

-- name: forget_crawl
DELETE FROM crawls WHERE id = ?;

-- name: optimize
INSERT INTO words(words) VALUES ('optimize');

-- name: total
SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2);

-- name: best
-- Of the latest matches; where a word stands in a title it weighs most. Only those that are shown are read.
WITH found AS MATERIALIZED (SELECT rowid AS id, bm25(words, 0, 8, 1, 0.5) AS rank FROM words WHERE words MATCH :match ORDER BY rowid DESC LIMIT :ranked),
  best AS MATERIALIZED (SELECT id, rank FROM found ORDER BY rank, id DESC LIMIT :limit OFFSET :offset)
SELECT d.id, d.crawl, d.host, d.url, d.title, d.fetched_at, d.text, -b.rank FROM best b JOIN documents d ON d.id = b.id ORDER BY b.rank, b.id DESC;
