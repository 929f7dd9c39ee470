-- The link index in links.db: derived data, without migrations.

-- name: make
-- detail = none: where in a page a target stands is of no interest, and takes half of the index.
CREATE TABLE documents(id INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, links BLOB NOT NULL);
CREATE INDEX documents_crawl ON documents(crawl);
CREATE VIRTUAL TABLE words USING fts5(targets, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- name: drop
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS documents;

-- name: put_in
INSERT INTO documents VALUES (?,?,?);

-- name: put_in_words
INSERT INTO words(rowid, targets) VALUES (?,?);

-- name: take_out_words
DELETE FROM words WHERE rowid = ?;

-- name: optimize
INSERT INTO words(words) VALUES ('optimize');

-- name: total
SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2);

-- name: linking
SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid LIMIT ?2 OFFSET ?3;

-- name: links_of
SELECT id, links FROM documents WHERE id IN (SELECT value FROM json_each(?));
