-- Completion, limits, deletion, forgetting. Order of locks: workers, partitions, queues, crawls, control.

-- name: any_dead
SELECT EXISTS(SELECT 1 FROM workers WHERE fenced_at IS NULL AND lease_until < %s);

-- name: running
-- The last column: nothing is left to do.
SELECT id, state, running_since, active_ms, (settings #>> '{limits,max_seconds}')::float8, (settings #>> '{limits,max_bytes}')::bigint,
  NOT seeding AND NOT EXISTS(SELECT 1 FROM queues q WHERE q.crawl = crawls.id AND q.due IS NOT NULL) AND NOT EXISTS(SELECT 1 FROM arrivals a WHERE a.crawl = crawls.id)
FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: end_crawl
-- Looks again at what may have changed since: who cancelled it. What there was to do was seen to be done, and stays so.
UPDATE crawls SET state = CASE WHEN state = 'ending' AND reason = 'cancelled' THEN 'cancelled' ELSE 'completed' END, ended_at = %(now)s::bigint,
  active_ms = active_ms + coalesce(%(now)s::bigint - running_since, 0), running_since = NULL, control = (SELECT version + 1 FROM control)
WHERE id = %(crawl)s AND state IN ('running', 'paused', 'ending') AND NOT seeding AND NOT deleted;

-- name: control
-- The control version, and whether some session may still act by an older one.
SELECT c.version, EXISTS(SELECT 1 FROM workers w WHERE w.fenced_at IS NULL AND w.control_seen < c.version) FROM control c;

-- name: unpark
-- Each partition is one range of queues_due.
UPDATE queues SET held = 0 WHERE id IN (SELECT q.id FROM queues q JOIN crawls c ON c.id = q.crawl
  WHERE q.part = ANY(ARRAY(SELECT part FROM partitions)) AND q.held = -1 AND q.due IS NOT NULL AND c.state = 'running' ORDER BY q.id FOR UPDATE OF q);

-- name: bytes
SELECT coalesce(sum(n), 0)::bigint FROM tallies WHERE crawl = %s AND name = 'bytes';

-- name: purge_turn
-- Two who purge the same crawl take turns: one that finds the other's rows locked would think that none are left.
SELECT pg_advisory_xact_lock(%s, %s);

-- name: is_deleted
SELECT 1 FROM crawls WHERE id = %s AND deleted;

-- name: wait_for_flushes
-- Every flush holds its session's row: those under way end first, others begin only after this transaction.
SELECT id FROM workers WHERE fenced_at IS NULL ORDER BY id FOR UPDATE;

-- name: purge_open
-- A row that is locked just now is being ended by a flush: it is found among the ended ones later.
WITH chunk AS (SELECT f.url FROM queues q JOIN frontier f ON f.queue = q.id WHERE q.crawl = %(crawl)s LIMIT %(rows_max)s FOR UPDATE OF f SKIP LOCKED),
  closed AS (DELETE FROM frontier WHERE url IN (SELECT url FROM chunk))
DELETE FROM urls WHERE id IN (SELECT url FROM chunk);

-- name: purge_ended
WITH chunk AS (SELECT u.id FROM urls u WHERE u.crawl = %(crawl)s AND NOT EXISTS(SELECT 1 FROM frontier f WHERE f.url = u.id) ORDER BY u.id LIMIT %(rows_max)s),
  emptied AS (DELETE FROM pages WHERE url IN (SELECT id FROM chunk))
DELETE FROM urls WHERE id IN (SELECT id FROM chunk);

-- name: purge_queues
DELETE FROM queues WHERE id IN (SELECT id FROM queues WHERE crawl = %(crawl)s ORDER BY id LIMIT %(rows_max)s FOR UPDATE);

-- name: purge_refusals
DELETE FROM refusals WHERE ctid = ANY(ARRAY(SELECT ctid FROM refusals WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE crawl = %(crawl)s LIMIT %(rows_max)s);

-- name: purge_keys
DELETE FROM request_keys WHERE crawl = %s;

-- name: forget_errors
-- Nothing is locked or written where none are too old.
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE id <= (SELECT max(id) FROM errors) - %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED);

-- name: forget_keys
DELETE FROM request_keys WHERE key IN (SELECT key FROM request_keys WHERE created_at < %s LIMIT %s FOR UPDATE SKIP LOCKED);

-- name: purge_tallies
DELETE FROM tallies WHERE crawl = %s;

-- name: purge_grants
DELETE FROM grants WHERE crawl = %s;

-- name: purge_arrivals
DELETE FROM arrivals WHERE crawl = %s;

-- name: purge_crawl
DELETE FROM crawls WHERE id = %s;

-- name: abandoned_files
SELECT a.name, a.bytes FROM archive_files a JOIN workers w ON w.id = a.worker WHERE a.open AND w.fenced_at IS NOT NULL ORDER BY a.id;

-- name: close_file
UPDATE archive_files SET open = false, cut = %s WHERE name = %s;
