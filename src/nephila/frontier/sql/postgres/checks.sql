-- What must never be found. Each row is one problem: BROKEN in rows.py has the line.

-- name: stranded
SELECT u.id, u.url FROM frontier f JOIN queues q ON q.id = f.queue JOIN urls u ON u.id = f.url
WHERE q.due IS NULL AND NOT EXISTS(SELECT 1 FROM arrivals a WHERE a.queue = q.id) LIMIT 20;

-- name: homeless
SELECT u.id, u.url FROM urls u LEFT JOIN queues q ON q.id = u.queue LEFT JOIN frontier f ON f.url = u.id
WHERE q.crawl IS DISTINCT FROM u.crawl OR f.queue <> u.queue LIMIT 20;

-- name: held_by_strangers
SELECT q.id, q.host, q.held FROM queues q JOIN partitions p ON p.part = q.part
WHERE q.held > 0 AND q.due IS NOT NULL AND p.owner IS DISTINCT FROM q.held
  AND (p.owner IS NOT NULL OR q.held IN (SELECT id FROM workers WHERE fenced_at IS NULL)) LIMIT 20;

-- name: miscounted_limits
SELECT * FROM (SELECT c.id, c.urls_granted, (SELECT count(*) FROM urls u WHERE u.crawl = c.id) AS n FROM crawls c
  WHERE NOT c.deleted AND c.settings #>> '{limits,max_urls}' IS NOT NULL) counted WHERE urls_granted <> n;

-- name: miscounted_hosts
SELECT * FROM (SELECT c.id, (SELECT coalesce(sum(n), 0)::bigint FROM tallies t WHERE t.crawl = c.id AND t.name = 'hosts') AS counted,
  (SELECT count(*) FROM queues q WHERE q.crawl = c.id AND EXISTS(SELECT 1 FROM urls u WHERE u.queue = q.id)) AS there FROM crawls c WHERE NOT c.deleted) found WHERE counted <> there;

-- name: miscounted_depth
SELECT * FROM (SELECT c.id, (SELECT coalesce(max(n), 0) FROM tallies t WHERE t.crawl = c.id AND t.name = 'depth_max') AS counted,
  (SELECT coalesce(max(depth), 0) FROM urls u WHERE u.crawl = c.id AND u.kind = 0) AS there FROM crawls c WHERE NOT c.deleted) found WHERE counted <> there;

-- name: ended_without_page
-- The one row that says how it ended is missing.
SELECT u.id, u.url FROM urls u WHERE NOT EXISTS(SELECT 1 FROM pages p WHERE p.url = u.id) AND NOT EXISTS(SELECT 1 FROM frontier f WHERE f.url = u.id) LIMIT 20;

-- name: open_and_ended
SELECT u.id, u.url FROM frontier f JOIN pages p ON p.url = f.url JOIN urls u ON u.id = f.url LIMIT 20;

-- name: open_without_url
SELECT f.url FROM frontier f WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = f.url) LIMIT 20;

-- name: pages_without_url
SELECT p.url, p.url FROM pages p WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = p.url AND u.crawl = p.crawl) LIMIT 20;
