-- The full-text index in the database of the store: derived data, without migrations.

-- name: drop
DROP TABLE IF EXISTS search_documents;

-- name: make
CREATE TABLE search_documents(
  id bigint PRIMARY KEY, crawl integer NOT NULL, fetched_at bigint NOT NULL, host text NOT NULL, url text NOT NULL, title text NOT NULL,
  text bytea NOT NULL,                       -- zlib
  words tsvector NOT NULL                    -- made here, not by to_tsvector: words are what search/words.py says
);
ALTER TABLE search_documents ALTER COLUMN text SET STORAGE EXTERNAL;
CREATE INDEX search_documents_crawl ON search_documents(crawl);
CREATE INDEX search_documents_words ON search_documents USING gin(words);

-- name: put_in
INSERT INTO search_documents(id, crawl, host, url, title, fetched_at, text, words)
SELECT id, crawl, host, url, title, fetched_at, text, words::tsvector
FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bytea[], %s::text[])
  AS d(id, crawl, host, url, title, fetched_at, text, words);

-- name: by_index
-- The planner does not know that a look at a row's words reads them from TOAST.
SET LOCAL enable_seqscan = off;

-- name: search
-- Counted and ranked only so far. What is ranked is read (TOAST), what is counted is not, unless a phrase asks for places.
-- The total stands at every row: a page of results behind the last one still has it.
WITH found AS MATERIALIZED (SELECT id, row_number() OVER () AS n FROM search_documents WHERE words @@ %(match)s::tsquery LIMIT %(matches)s),
  ranked AS (SELECT d.id, ts_rank('{0.1, 0.2, 0.4, 1.0}', d.words, %(rank)s::tsquery, 1) AS score
    FROM found f JOIN search_documents d ON d.id = f.id WHERE f.n <= %(ranked)s ORDER BY score DESC, d.id DESC LIMIT %(limit)s OFFSET %(offset)s)
SELECT t.n, d.id, d.crawl, d.host, d.url, d.title, d.fetched_at, d.text, r.score
FROM (SELECT count(*) AS n FROM found) t LEFT JOIN ranked r ON true LEFT JOIN search_documents d ON d.id = r.id ORDER BY r.score DESC, d.id DESC;
