-- What every derivation has in the database of the store: derived data, without migrations. In the place of `derived_` comes the name of the derivation.

-- name: exists
SELECT to_regclass('derived_state') IS NOT NULL;

-- name: state
SELECT version FROM derived_state;

-- name: drop
DROP TABLE IF EXISTS derived_marks, derived_crawls, derived_state;

-- name: make
CREATE TABLE derived_state(version integer NOT NULL);
CREATE TABLE derived_crawls(id integer PRIMARY KEY, uuid text NOT NULL, pages bigint NOT NULL);
CREATE TABLE derived_marks(file text PRIMARY KEY, "offset" bigint NOT NULL);

-- name: set_version
INSERT INTO derived_state VALUES (%s);

-- name: take_turn
SELECT pg_try_advisory_lock(%s);

-- name: end_turn
SELECT pg_advisory_unlock(%s);

-- name: marks
SELECT file, "offset" FROM derived_marks;

-- name: move_mark
-- Nothing where the mark is elsewhere.
UPDATE derived_marks SET "offset" = %(end)s WHERE file = %(file)s AND "offset" = %(start)s RETURNING "offset";

-- name: begin_mark
INSERT INTO derived_marks VALUES (%s, 0) ON CONFLICT DO NOTHING;

-- name: forget_marks
DELETE FROM derived_marks WHERE file = ANY(%s);

-- name: crawls
SELECT id, uuid FROM derived_crawls;

-- name: count
SELECT coalesce(sum(pages), 0)::bigint FROM derived_crawls;

-- name: some_of_crawl
SELECT id FROM derived_documents WHERE crawl = %s LIMIT %s;

-- name: take_out
WITH gone AS (DELETE FROM derived_documents WHERE id = ANY(%s) RETURNING crawl), counted AS (SELECT crawl, count(*) AS n FROM gone GROUP BY crawl)
UPDATE derived_crawls c SET pages = c.pages - counted.n FROM counted WHERE c.id = counted.crawl;

-- name: count_crawls
INSERT INTO derived_crawls AS c SELECT * FROM unnest(%s::integer[], %s::text[], %s::bigint[])
ON CONFLICT (id) DO UPDATE SET pages = c.pages + excluded.pages;

-- name: forget_crawl
DELETE FROM derived_crawls WHERE id = %s;
