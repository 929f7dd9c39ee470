-- Completion, limits, deletion, forgetting. Order of locks: workers, partitions, queues, crawls, control.

-- name: any_dead
SELECT EXISTS(SELECT 1 FROM workers WHERE fenced_at IS NULL AND lease_until < %s);

-- name: running
-- The last column: nothing is left to do. Before it: max_frontier, where more open URLs are evicted; and whether no host of the crawl has answered, not even to
-- one of the tries that a page has.
SELECT id, state, running_since, active_ms, (settings #>> '{limits,max_seconds}')::float8, (settings #>> '{limits,max_bytes}')::bigint,
  CASE WHEN settings #>> '{limits,evict}' = 'true' THEN (settings #>> '{limits,max_frontier}')::bigint END,
  NOT seeding AND NOT coalesce((settings #>> '{host,wait_for_seeds}')::boolean, false) AND NOT EXISTS(SELECT 1 FROM queues q WHERE q.crawl = crawls.id AND q.dead = '' AND
    (q.fetched > 0 OR NOT EXISTS(SELECT 1 FROM robots r WHERE r.host = q.host AND r.status IS NULL AND r.failures > (settings #>> '{retry,max}')::int))),
  NOT seeding AND NOT EXISTS(SELECT 1 FROM queues q WHERE q.crawl = crawls.id AND q.due IS NOT NULL) AND NOT EXISTS(SELECT 1 FROM arrivals a WHERE a.crawl = crawls.id)
FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: end_crawl
-- Looks again at what may have changed since the look: state and reason. That no row is open stays true.
-- `failure`: why no seed could be had. A crawl that ends at a limit or is cancelled has not failed. One with requisites went on after max_pages, for those of its pages.
UPDATE crawls SET state = CASE WHEN (state <> 'ending' OR reason = 'unreachable') AND %(failure)s::text <> '' THEN 'failed' WHEN state = 'ending' AND reason = 'cancelled' THEN 'cancelled' ELSE 'completed' END,
  reason = CASE WHEN state <> 'ending' AND limited_by = 'max_pages' THEN 'limit_pages' WHEN state <> 'ending' OR reason = 'unreachable' THEN %(failure)s::text ELSE reason END, ended_at = %(now)s::bigint,
  active_ms = active_ms + coalesce(%(now)s::bigint - running_since, 0), running_since = NULL, control = (SELECT version + 1 FROM control)
WHERE id = %(crawl)s AND state IN ('running', 'paused', 'ending') AND NOT seeding AND NOT deleted;

-- name: control
-- The control version, and whether some session may still act by an older one.
SELECT c.version, EXISTS(SELECT 1 FROM workers w WHERE w.fenced_at IS NULL AND w.control_seen < c.version) FROM control c;

-- name: unpark_running
-- Each partition is one range of queues_due.
UPDATE queues SET held = 0 WHERE id IN (SELECT q.id FROM queues q JOIN crawls c ON c.id = q.crawl
  WHERE q.part = ANY(ARRAY(SELECT part FROM partitions)) AND q.held = -1 AND q.due IS NOT NULL AND c.state = 'running' ORDER BY q.id FOR UPDATE OF q);

-- name: silent_origins
SELECT r.origin FROM queues q JOIN robots r ON r.host = q.host JOIN crawls c ON c.id = q.crawl
WHERE q.crawl = %(crawl)s AND r.status IS NULL AND r.failures > (c.settings #>> '{retry,max}')::int;

-- name: some_open
SELECT coalesce(u.spelling, u.url) FROM queues q JOIN frontier f ON f.queue = q.id JOIN urls u ON u.id = f.url WHERE q.crawl = %(crawl)s LIMIT %(rows_max)s;

-- name: tally
SELECT coalesce(sum(n), 0)::bigint FROM tallies WHERE crawl = %(crawl)s AND name = %(name)s;

-- name: least_important
-- Open pages with the largest priority, the newest first, none of those in flight. (The priority of other kinds is below 0.)
-- The first rows of a held queue leave last: its worker has them in memory and will ask for them.
SELECT url FROM (
  SELECT f.url, f.prio, q.held > 0 AND row_number() OVER (PARTITION BY f.queue ORDER BY f.not_before, f.prio, f.url) <= %(window)s AS held
  FROM queues q JOIN frontier f ON f.queue = q.id WHERE q.crawl = %(crawl)s) placed
WHERE prio >= 0 AND url NOT IN
  (SELECT (j->>0)::bigint FROM workers w CROSS JOIN LATERAL json_array_elements(w.in_flight::json) j WHERE w.fenced_at IS NULL)
ORDER BY held, prio DESC, url DESC LIMIT %(rows_max)s;

-- name: evicting
-- As `changing` of worker.sql.
SELECT pg_advisory_xact_lock_shared((20037::bigint << 48) + last_value) FROM change_numbers;

-- name: evict
-- A row that is locked just now is being ended or tried again by a flush: it is passed over.
WITH chunk AS (SELECT url FROM frontier WHERE url = ANY(%(urls)s) ORDER BY url FOR UPDATE SKIP LOCKED),
  gone AS (DELETE FROM frontier f USING chunk WHERE f.url = chunk.url RETURNING f.url, f.queue, f.tries),
  ended AS (INSERT INTO pages(url, crawl, state, tries, reason, changed_at, fetched_at, body_bytes, wire_bytes)
    SELECT url, %(crawl)s, %(state)s, tries, %(reason)s, %(now)s, 0, 0, 0 FROM gone)
SELECT url, queue FROM gone;

-- name: note_evicted
INSERT INTO changes(crawl, ended, urls) VALUES (%(crawl)s, true, %(urls)s);

-- name: wake_emptied
-- A resting queue without open rows is due now: its owner finds nothing and lets it sleep. (Only the owner may.)
UPDATE queues SET due = %(now)s WHERE id IN (SELECT id FROM queues q WHERE q.id = ANY(%(queues)s) AND q.held = 0 AND q.due > %(now)s
  AND NOT EXISTS(SELECT 1 FROM frontier f WHERE f.queue = q.id) ORDER BY q.id FOR UPDATE) AND held = 0 AND due > %(now)s;

-- name: limited
UPDATE crawls SET limited_by = %(limited_by)s WHERE id = %(crawl)s AND limited_by = '';

-- name: tally_more
INSERT INTO tallies(crawl, worker, name, n) VALUES (%(crawl)s, %(worker)s, %(name)s, %(n)s) ON CONFLICT (crawl, worker, name) DO UPDATE SET n = tallies.n + excluded.n;

-- name: purge_turn
-- Two who purge the same crawl take turns: one that finds the other's rows locked would think that none are left.
SELECT pg_advisory_xact_lock(%s, %s);

-- name: is_deleted
SELECT 1 FROM crawls WHERE id = %s AND deleted;

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

-- name: purge_history
DELETE FROM history WHERE crawl = %s;

-- name: purge_histories
DELETE FROM histories WHERE crawl = %s;

-- name: purge_refused_rules
DELETE FROM refused_rules WHERE ctid = ANY(ARRAY(SELECT ctid FROM refused_rules WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_refused_links
DELETE FROM refused_links WHERE ctid = ANY(ARRAY(SELECT ctid FROM refused_links WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_refusals
DELETE FROM refusals WHERE ctid = ANY(ARRAY(SELECT ctid FROM refusals WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_sitemap_entries
DELETE FROM sitemap_entries WHERE crawl = %(crawl)s AND url = ANY(ARRAY(SELECT url FROM sitemap_entries WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE crawl = %(crawl)s LIMIT %(rows_max)s);

-- name: purge_changes
DELETE FROM changes WHERE crawl = %(crawl)s AND number = ANY(ARRAY(SELECT number FROM changes WHERE crawl = %(crawl)s LIMIT %(rows_max)s));

-- name: purge_keys
DELETE FROM request_keys WHERE crawl = %s;

-- name: has_old_errors
-- Both ends of the key: nothing is locked where none are too old.
SELECT (SELECT min(id) FROM errors) <= (SELECT max(id) FROM errors) - %(kept)s;

-- name: forget_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE id <= (SELECT max(id) FROM errors) - %(kept)s ORDER BY id LIMIT %(rows_max)s FOR UPDATE SKIP LOCKED);

-- name: has_old_throughput
SELECT EXISTS(SELECT 1 FROM throughput WHERE slot < %(before)s);

-- name: forget_throughput
DELETE FROM throughput WHERE slot < %(before)s;

-- name: has_old_keys
SELECT EXISTS(SELECT 1 FROM request_keys WHERE created_at < %(before)s);

-- name: forget_keys
DELETE FROM request_keys WHERE key IN (SELECT key FROM request_keys WHERE created_at < %(before)s LIMIT %(rows_max)s FOR UPDATE SKIP LOCKED);

-- name: has_gone_workers
SELECT count(*) > %(kept)s FROM workers WHERE fenced_at IS NOT NULL;

-- name: take_sample
-- The step, if it is time for a sample of the crawl, or `always`. Who is told so takes it.
INSERT INTO histories AS known(crawl, step_ms, sampled_at) SELECT id, %(step_ms)s::bigint, %(now)s::bigint FROM crawls WHERE id = %(crawl)s AND NOT deleted
ON CONFLICT(crawl) DO UPDATE SET sampled_at = %(now)s WHERE %(always)s::boolean OR known.sampled_at <= %(now)s - known.step_ms RETURNING step_ms;

-- name: count_samples
SELECT count(*) FROM history WHERE crawl = %(crawl)s;

-- name: thin_samples
-- Every other one; the first stays.
DELETE FROM history WHERE crawl = %(crawl)s AND at IN (SELECT at FROM (SELECT at, row_number() OVER (ORDER BY at) AS n FROM history WHERE crawl = %(crawl)s) AS numbered WHERE n %% 2 = 0);

-- name: double_step
UPDATE histories SET step_ms = step_ms * 2 WHERE crawl = %(crawl)s;

-- name: add_sample
INSERT INTO history(crawl, at, answered, ended, queued, failed) VALUES (%(crawl)s, %(at)s, %(answered)s, %(ended)s, %(queued)s, %(failed)s)
ON CONFLICT(crawl, at) DO UPDATE SET answered = excluded.answered, ended = excluded.ended, queued = excluded.queued, failed = excluded.failed;

-- name: forget_workers
-- One whose archive file is not closed yet stays: `abandoned_files` finds the file by it.
DELETE FROM workers WHERE id IN (SELECT id FROM workers w WHERE fenced_at IS NOT NULL AND NOT EXISTS(SELECT 1 FROM archive_files a WHERE a.open AND a.worker = w.id)
  ORDER BY id DESC LIMIT %(rows_max)s OFFSET %(kept)s FOR UPDATE SKIP LOCKED);

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
UPDATE archive_files SET open = false, cut = %(cut)s WHERE name = %(name)s;
