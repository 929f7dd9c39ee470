-- The link index in the database of the store: derived data, without migrations.

-- name: drop
DROP TABLE IF EXISTS links_documents;

-- name: make
-- A page that links to thousands of others is read only where it is shown: TOAST keeps its links out of the way.
CREATE TABLE links_documents(id bigint PRIMARY KEY, crawl integer NOT NULL, targets bigint[] NOT NULL, links bytea NOT NULL);
ALTER TABLE links_documents ALTER COLUMN links SET STORAGE EXTERNAL;
CREATE INDEX links_documents_crawl ON links_documents(crawl);
CREATE INDEX links_documents_targets ON links_documents USING gin(targets) WITH (fastupdate = off);

-- name: put_in
INSERT INTO links_documents(id, crawl, targets, links) VALUES (%s, %s, %s, %s);

-- name: by_index
-- The planner takes a sequential scan where many pages have the same targets, as those of a site have.
SET LOCAL enable_seqscan = off;

-- name: linking
-- In the order of the table, which is that of the archive. The total stands at every row: a page of results behind the last one still has it.
WITH found AS MATERIALIZED (SELECT id, row_number() OVER () AS n FROM links_documents WHERE targets @> ARRAY[%(target)s]::bigint[] LIMIT %(linking)s)
SELECT t.n, f.id FROM (SELECT count(*) AS n FROM found) t
LEFT JOIN (SELECT id, n FROM found ORDER BY n LIMIT %(limit)s OFFSET %(offset)s) f ON true ORDER BY f.n;

-- name: links_of
SELECT id, links FROM links_documents WHERE id = ANY(%s);
