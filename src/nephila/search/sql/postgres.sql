-- The full-text index in the database of the store: derived data, without migrations.

-- name: exists
SELECT to_regclass('search_state') IS NOT NULL;

-- name: state
SELECT version FROM search_state;

-- name: drop
DROP TABLE IF EXISTS search_documents, search_marks, search_crawls, search_state;

-- name: make
CREATE TABLE search_state(version integer NOT NULL);
CREATE TABLE search_crawls(id integer PRIMARY KEY, uuid text NOT NULL, documents bigint NOT NULL);
CREATE TABLE search_marks(file text PRIMARY KEY, "offset" bigint NOT NULL);
CREATE TABLE search_documents(
  id bigint PRIMARY KEY, crawl integer NOT NULL, fetched_at bigint NOT NULL, host text NOT NULL, url text NOT NULL, title text NOT NULL,
  text bytea NOT NULL,                       -- zlib
  words tsvector NOT NULL                    -- made here, not by to_tsvector: words are what search/words.py says
);
ALTER TABLE search_documents ALTER COLUMN text SET STORAGE EXTERNAL;
CREATE INDEX search_documents_crawl ON search_documents(crawl);
CREATE INDEX search_documents_words ON search_documents USING gin(words);

-- name: set_version
INSERT INTO search_state VALUES (%s);

-- name: take_turn
SELECT pg_try_advisory_lock(%s);

-- name: end_turn
SELECT pg_advisory_unlock(%s);

-- name: marks
SELECT file, "offset" FROM search_marks;

-- name: move_mark
-- Nothing where the mark is elsewhere.
UPDATE search_marks SET "offset" = %(end)s WHERE file = %(file)s AND "offset" = %(start)s RETURNING "offset";

-- name: begin_mark
INSERT INTO search_marks VALUES (%s, 0) ON CONFLICT DO NOTHING;

-- name: forget_marks
DELETE FROM search_marks WHERE file = ANY(%s);

-- name: crawls
SELECT id, uuid FROM search_crawls;

-- name: count
SELECT coalesce(sum(documents), 0)::bigint FROM search_crawls;

-- name: some_of_crawl
SELECT id FROM search_documents WHERE crawl = %s LIMIT %s;

-- name: take_out
WITH gone AS (DELETE FROM search_documents WHERE id = ANY(%s) RETURNING crawl), counted AS (SELECT crawl, count(*) AS n FROM gone GROUP BY crawl)
UPDATE search_crawls c SET documents = c.documents - counted.n FROM counted WHERE c.id = counted.crawl;

-- name: put_in
INSERT INTO search_documents(id, crawl, host, url, title, fetched_at, text, words)
SELECT id, crawl, host, url, title, fetched_at, text, words::tsvector
FROM unnest(%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bytea[], %s::text[])
  AS d(id, crawl, host, url, title, fetched_at, text, words);

-- name: count_crawls
INSERT INTO search_crawls AS c SELECT * FROM unnest(%s::integer[], %s::text[], %s::bigint[])
ON CONFLICT (id) DO UPDATE SET documents = c.documents + excluded.documents;

-- name: forget_crawl
DELETE FROM search_crawls WHERE id = %s;

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
