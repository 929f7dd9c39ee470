-- Completion, limits, deletion, forgetting.

-- name: running
SELECT id, state, seeding, running_since, active_ms,
  json_extract(settings, '$.limits.max_seconds'), json_extract(settings, '$.limits.max_bytes') FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: has_open
-- Exact: parent and children commit together, and `due` is set while a queue has open rows or is held.
SELECT EXISTS(SELECT 1 FROM queues INDEXED BY queues_active WHERE crawl = ?1 AND due IS NOT NULL) OR EXISTS(SELECT 1 FROM arrivals WHERE crawl = ?1);

-- name: end_crawl
UPDATE crawls SET state = ?, ended_at = ?, active_ms = active_ms + coalesce(? - running_since, 0), running_since = NULL, control = (SELECT version FROM control) WHERE id = ?;

-- name: bytes
SELECT coalesce(sum(n), 0) FROM tallies WHERE crawl = ? AND name = 'bytes';

-- name: is_deleted
SELECT deleted FROM crawls WHERE id = ?;

-- name: purge_urls
DELETE FROM urls WHERE id IN (SELECT id FROM urls INDEXED BY urls_key WHERE queue = ? LIMIT ?) RETURNING page;

-- name: purge_page
DELETE FROM pages WHERE id = ?;

-- name: any_queue
SELECT id FROM queues WHERE crawl = ? LIMIT 1;

-- name: purge_queue
DELETE FROM queues WHERE id = ?;

-- name: purge_refusals
DELETE FROM refusals WHERE (crawl, host, reason) IN (SELECT crawl, host, reason FROM refusals WHERE crawl = ? LIMIT ?);

-- name: purge_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE crawl = ? LIMIT ?);

-- name: old_errors
-- The last one that is too old, if there is any; both ends of the key.
SELECT last - ?1 FROM (SELECT (SELECT min(id) FROM errors) AS first, (SELECT max(id) FROM errors) AS last) WHERE first <= last - ?1;

-- name: forget_errors
DELETE FROM errors WHERE id IN (SELECT id FROM errors WHERE id <= ? ORDER BY id LIMIT ?);

-- name: old_keys
SELECT EXISTS(SELECT 1 FROM request_keys WHERE created_at < ?);

-- name: forget_keys
DELETE FROM request_keys WHERE key IN (SELECT key FROM request_keys WHERE created_at < ? LIMIT ?);

-- name: purge_rest
DELETE FROM tallies WHERE crawl = ?1;
DELETE FROM grants WHERE crawl = ?1;
DELETE FROM arrivals WHERE crawl = ?1;
DELETE FROM request_keys WHERE crawl = ?1;
DELETE FROM crawls WHERE id = ?1;
