-- Completion, limits, deletion, forgetting.

-- name: running
-- The last column: nothing is left to do. Exact: parent and children commit together, and `due` is set while a queue has open rows or is held.
-- Before it: max_frontier, where more open URLs are evicted; and whether no host of the crawl has answered, not even to one of the tries that a page has.
SELECT id, state, running_since, active_ms, json_extract(settings, '$.limits.max_seconds'), json_extract(settings, '$.limits.max_bytes'),
  iif(json_extract(settings, '$.limits.evict'), json_extract(settings, '$.limits.max_frontier'), NULL),
  NOT seeding AND NOT coalesce(json_extract(settings, '$.host.wait_for_seeds'), 0) AND NOT EXISTS(SELECT 1 FROM queues q WHERE q.crawl = crawls.id AND q.dead = '' AND
    (q.fetched > 0 OR NOT EXISTS(SELECT 1 FROM robots r WHERE r.host = q.host AND r.status IS NULL AND r.failures > json_extract(settings, '$.retry.max')))),
  NOT seeding AND NOT EXISTS(SELECT 1 FROM queues q INDEXED BY queues_active WHERE q.crawl = crawls.id AND q.due IS NOT NULL)
  AND NOT EXISTS(SELECT 1 FROM arrivals a WHERE a.crawl = crawls.id)
FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: end_crawl
-- Looks again at what may have changed since the look: state and reason. That no row is open stays true.
-- `failure`: why no seed could be had. A crawl that ends at a limit or is cancelled has not failed. One with requisites went on after max_pages, for those of its pages.
UPDATE crawls SET state = CASE WHEN state <> 'ending' OR reason = 'unreachable' THEN iif(:failure = '', 'completed', 'failed') WHEN reason = 'cancelled' THEN 'cancelled' ELSE 'completed' END,
  reason = CASE WHEN state <> 'ending' AND limited_by = 'max_pages' THEN 'limit_pages' WHEN state <> 'ending' OR reason = 'unreachable' THEN :failure ELSE reason END, ended_at = :now,
  active_ms = active_ms + coalesce(:now - running_since, 0), running_since = NULL, control = (SELECT version + 1 FROM control)
WHERE id = :crawl AND state IN ('running', 'paused', 'ending') AND NOT seeding AND NOT deleted;

-- name: silent_origins
SELECT r.origin FROM queues q JOIN robots r ON r.host = q.host JOIN crawls c ON c.id = q.crawl
WHERE q.crawl = :crawl AND r.status IS NULL AND r.failures > json_extract(c.settings, '$.retry.max');

-- name: some_open
SELECT coalesce(u.spelling, u.url) FROM queues q CROSS JOIN urls u INDEXED BY urls_open ON u.queue = q.id AND u.state = 0
WHERE q.id IN (SELECT id FROM queues INDEXED BY queues_active WHERE crawl = :crawl AND due IS NOT NULL) LIMIT :rows_max;

-- name: tally
SELECT coalesce(sum(n), 0) FROM tallies WHERE crawl = :crawl AND name = :name;

-- name: least_important
-- Open pages with the largest priority, the newest first, none of those in flight. (The priority of other kinds is below 0.)
-- The first rows of a held queue leave last: its worker has them in memory and will ask for them. (By q.id: so they come in the order of urls_open and are not sorted.)
SELECT id FROM (
  SELECT u.id, u.prio, q.held > 0 AND row_number() OVER (PARTITION BY q.id ORDER BY u.not_before, u.prio, u.id) <= :window AS held
  FROM queues q CROSS JOIN urls u INDEXED BY urls_open ON u.queue = q.id AND u.state = 0
  WHERE q.id IN (SELECT id FROM queues INDEXED BY queues_active WHERE crawl = :crawl AND due IS NOT NULL UNION SELECT queue FROM arrivals WHERE crawl = :crawl))
WHERE prio >= 0 AND id NOT IN (SELECT json_extract(j.value, '$[0]') FROM workers w CROSS JOIN json_each(w.in_flight) j WHERE w.fenced_at IS NULL)
ORDER BY held, prio DESC, id DESC LIMIT :rows_max;

-- name: evicting
-- Writers take turns: numbers of changes are committed in their order.
SELECT 1;

-- name: evict
UPDATE urls SET state = :state, reason = :reason, changed_at = :now WHERE id IN (SELECT value FROM json_each(:urls)) AND crawl = :crawl AND state = 0 RETURNING id, queue;

-- name: note_evicted
INSERT INTO changes(crawl, number, ended, urls) VALUES (:crawl, coalesce((SELECT max(number) FROM changes WHERE crawl = :crawl), 0) + 1, 1, :urls);

-- name: wake_emptied
-- A resting queue without open rows is due now: its owner finds nothing and lets it sleep. (Only the owner may.)
UPDATE queues SET due = :now WHERE id IN (SELECT value FROM json_each(:queues)) AND held = 0 AND due > :now
  AND NOT EXISTS(SELECT 1 FROM urls u INDEXED BY urls_open WHERE u.queue = queues.id AND u.state = 0);

-- name: limited
UPDATE crawls SET limited_by = :limited_by WHERE id = :crawl AND limited_by = '';

-- name: tally_more
INSERT INTO tallies(crawl, worker, name, n) VALUES (:crawl, :worker, :name, :n) ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: is_deleted
SELECT deleted FROM crawls WHERE id = ?;

-- name: purge_urls
-- By id, as they and their pages lie in the file: queue by queue each chunk wrote most of its pages anew, which took four times as long.
DELETE FROM urls WHERE id IN (SELECT id FROM urls INDEXED BY urls_crawl WHERE crawl = ? ORDER BY id LIMIT ?) RETURNING page;

-- name: purge_page
DELETE FROM pages WHERE id = ?;

-- name: purge_queues
DELETE FROM queues WHERE id IN (SELECT id FROM queues WHERE crawl = :crawl LIMIT :rows_max);

-- name: purge_refused_links
DELETE FROM refused_links WHERE (crawl, reason, rule, host, url) IN (SELECT crawl, reason, rule, host, url FROM refused_links WHERE crawl = :crawl LIMIT :rows_max);

-- name: purge_refusals
DELETE FROM refusals WHERE (crawl, host, reason) IN (SELECT crawl, host, reason FROM refusals WHERE crawl = :crawl LIMIT :rows_max);

-- name: purge_sitemap_entries
DELETE FROM sitemap_entries WHERE crawl = :crawl AND url IN (SELECT url FROM sitemap_entries WHERE crawl = :crawl LIMIT :rows_max);

-- name: purge_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE crawl = :crawl LIMIT :rows_max);

-- name: purge_changes
DELETE FROM changes WHERE crawl = :crawl AND number IN (SELECT number FROM changes WHERE crawl = :crawl LIMIT :rows_max);

-- name: has_old_errors
-- Both ends of the key: nothing is locked where none are too old.
SELECT (SELECT min(id) FROM errors) <= (SELECT max(id) FROM errors) - :kept;

-- name: forget_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE id <= (SELECT max(id) FROM errors) - :kept ORDER BY id LIMIT :rows_max);

-- name: has_old_throughput
SELECT EXISTS(SELECT 1 FROM throughput WHERE slot < :before);

-- name: forget_throughput
DELETE FROM throughput WHERE slot < :before;

-- name: has_old_keys
SELECT EXISTS(SELECT 1 FROM request_keys WHERE created_at < :before);

-- name: forget_keys
DELETE FROM request_keys WHERE key IN (SELECT key FROM request_keys WHERE created_at < :before LIMIT :rows_max);

-- name: has_gone_workers
SELECT count(*) > :kept FROM workers WHERE fenced_at IS NOT NULL;

-- name: take_sample
-- The step, if it is time for a sample of the crawl, or `always`. Who is told so takes it.
INSERT INTO histories AS known(crawl, step_ms, sampled_at) SELECT id, :step_ms, :now FROM crawls WHERE id = :crawl AND NOT deleted
ON CONFLICT(crawl) DO UPDATE SET sampled_at = :now WHERE :always OR known.sampled_at <= :now - known.step_ms RETURNING step_ms;

-- name: count_samples
SELECT count(*) FROM history WHERE crawl = :crawl;

-- name: thin_samples
-- Every other one; the first stays.
DELETE FROM history WHERE crawl = :crawl AND at IN (SELECT at FROM (SELECT at, row_number() OVER (ORDER BY at) AS n FROM history WHERE crawl = :crawl) AS numbered WHERE n % 2 = 0);

-- name: double_step
UPDATE histories SET step_ms = step_ms * 2 WHERE crawl = :crawl;

-- name: add_sample
INSERT INTO history(crawl, at, answered, ended, queued, failed) VALUES (:crawl, :at, :answered, :ended, :queued, :failed)
ON CONFLICT(crawl, at) DO UPDATE SET answered = excluded.answered, ended = excluded.ended, queued = excluded.queued, failed = excluded.failed;

-- name: forget_workers
-- One whose archive file is not closed yet stays: `abandoned_files` finds the file by it.
DELETE FROM workers WHERE id IN (SELECT id FROM workers WHERE fenced_at IS NOT NULL AND id NOT IN (SELECT worker FROM archive_files WHERE open = 1)
  ORDER BY id DESC LIMIT :rows_max OFFSET :kept);

-- name: purge_rest
DELETE FROM tallies WHERE crawl = ?1;
DELETE FROM refused_rules WHERE crawl = ?1;
DELETE FROM history WHERE crawl = ?1;
DELETE FROM histories WHERE crawl = ?1;
DELETE FROM grants WHERE crawl = ?1;
DELETE FROM arrivals WHERE crawl = ?1;
DELETE FROM request_keys WHERE crawl = ?1;
DELETE FROM crawls WHERE id = ?1;

-- name: abandoned_files
SELECT f.name, f.bytes FROM archive_files f JOIN workers w ON w.id = f.worker WHERE f.open = 1 AND w.fenced_at IS NOT NULL;

-- name: close_file
UPDATE archive_files SET open = 0, cut = :cut WHERE name = :name;
