-- The full-text index in search.db: derived data, without migrations.

-- name: make
CREATE TABLE documents(id INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, host TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL,
  fetched_at INTEGER NOT NULL, text BLOB NOT NULL);
CREATE INDEX documents_crawl ON documents(crawl);
CREATE VIRTUAL TABLE words USING fts5(place, title, body, rest, content = '', contentless_delete = 1, tokenize = 'ascii');

-- name: drop
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS documents;

-- name: take_out_words
DELETE FROM words WHERE rowid = ?;

-- name: put_in
INSERT INTO documents VALUES (?,?,?,?,?,?,?);

-- name: put_in_words
INSERT INTO words(rowid, place, title, body, rest) VALUES (?,?,?,?,?);

-- name: optimize
INSERT INTO words(words) VALUES ('optimize');

-- name: total
SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2);

-- name: best
-- Of the latest matches; where a word stands in a title it weighs most. Only those that are shown are read.
WITH found AS MATERIALIZED (SELECT rowid AS id, bm25(words, 0, 8, 1, 0.5) AS rank FROM words WHERE words MATCH :match ORDER BY rowid DESC LIMIT :ranked),
  best AS MATERIALIZED (SELECT id, rank FROM found ORDER BY rank, id DESC LIMIT :limit OFFSET :offset)
SELECT d.id, d.crawl, d.host, d.url, d.title, d.fetched_at, d.text, -b.rank FROM best b JOIN documents d ON d.id = b.id ORDER BY b.rank, b.id DESC;
