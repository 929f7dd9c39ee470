-- What must never be found. Each row is one problem: BROKEN in rows.py has the line.

-- name: stranded
SELECT u.id, u.url FROM urls u JOIN queues q ON q.id = u.queue WHERE u.state = 0 AND q.due IS NULL AND NOT EXISTS(SELECT 1 FROM arrivals a WHERE a.queue = q.id) LIMIT 20;

-- name: homeless
SELECT u.id, u.url FROM urls u LEFT JOIN queues q ON q.id = u.queue WHERE q.crawl IS NOT u.crawl LIMIT 20;

-- name: held_by_strangers
SELECT q.id, q.host, q.held FROM queues q JOIN partitions p ON p.part = q.part
WHERE q.held > 0 AND q.due IS NOT NULL AND p.owner IS NOT q.held AND (p.owner IS NOT NULL OR q.held IN (SELECT id FROM workers WHERE fenced_at IS NULL)) LIMIT 20;

-- name: miscounted_limits
SELECT c.id, c.urls_granted, (SELECT count(*) FROM urls u WHERE u.crawl = c.id) FROM crawls c
WHERE NOT c.deleted AND json_extract(c.settings, '$.limits.max_urls') IS NOT NULL
  AND c.urls_granted <> (SELECT count(*) FROM urls u WHERE u.crawl = c.id);

-- name: miscounted_hosts
SELECT * FROM (SELECT c.id, (SELECT coalesce(sum(n), 0) FROM tallies t WHERE t.crawl = c.id AND t.name = 'hosts') AS counted,
  (SELECT count(*) FROM queues q WHERE q.crawl = c.id AND EXISTS(SELECT 1 FROM urls u WHERE u.queue = q.id)) AS there FROM crawls c WHERE NOT c.deleted) WHERE counted <> there;

-- name: miscounted_depth
SELECT * FROM (SELECT c.id, (SELECT coalesce(max(n), 0) FROM tallies t WHERE t.crawl = c.id AND t.name = 'depth_max') AS counted,
  (SELECT coalesce(max(depth), 0) FROM urls u WHERE u.crawl = c.id AND u.kind = 0) AS there FROM crawls c WHERE NOT c.deleted) WHERE counted <> there;

-- name: ended_without_page
SELECT u.id, u.url FROM urls u WHERE u.state IN (SELECT value FROM json_each(:answered)) AND NOT EXISTS(SELECT 1 FROM pages p WHERE p.id = u.page AND p.url = u.id) LIMIT 20;

-- name: pages_without_url
SELECT p.id, p.url FROM pages p WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = p.url AND u.page = p.id) LIMIT 20;

-- name: damaged
SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok' LIMIT 10;
