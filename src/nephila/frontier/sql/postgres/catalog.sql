-- What the command line and the API read and steer. Keyset pages, short transactions, one snapshot a statement.
-- A URL is open while it has a row in frontier; otherwise its row in pages says how it ended.

-- name: create_crawl
INSERT INTO crawls(uuid, seeds, settings, fingerprint, created_by, state, created_at, running_since, control)
VALUES (%(uuid)s, %(seeds)s, %(settings)s::jsonb, %(fingerprint)s, %(created_by)s, 'running', %(now)s, %(now)s, (SELECT version + 1 FROM control)) RETURNING id;

-- name: unfinished_of
SELECT count(*) FROM crawls WHERE created_by = %s AND state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: take_request_key
-- Of two who come at once the second waits here for the first, and then finds its crawl.
INSERT INTO request_keys(key, fingerprint, created_at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING;

-- name: request_key
SELECT crawl, fingerprint FROM request_keys WHERE key = %s;

-- name: fill_request_key
UPDATE request_keys SET crawl = %s WHERE key = %s;

-- name: drop_request_keys
DELETE FROM request_keys WHERE crawl = %s;

-- name: seeded
UPDATE crawls SET seeding = false WHERE id = %s;

-- name: crawl
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since
FROM crawls WHERE id = %s AND NOT deleted;

-- name: crawl_by_uuid
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since
FROM crawls WHERE uuid = %s AND NOT deleted;

-- name: crawls
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since
FROM crawls WHERE NOT deleted ORDER BY id;

-- name: crawl_uuids
SELECT id, uuid FROM crawls WHERE NOT deleted;

-- name: open_crawls
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since
FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: unfinished
SELECT id FROM crawls WHERE fingerprint = %s AND state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id DESC LIMIT 1;

-- name: steer
-- Here as everywhere crawls are locked before control: everybody who steers wants that row, so it is the last.
-- What ends cannot be called back: some of its rows have ended already.
UPDATE crawls SET state = %(state)s::text, reason = %(reason)s, control = (SELECT version + 1 FROM control),
  active_ms = active_ms + CASE WHEN %(state)s::text = 'running' AND %(alive)s THEN 0 ELSE greatest(0, coalesce(%(until)s::bigint - running_since, 0)) END,
  running_since = CASE WHEN %(state)s::text <> 'running' THEN NULL WHEN %(alive)s THEN coalesce(running_since, %(now)s::bigint) ELSE %(now)s::bigint END
WHERE id = %(crawl)s AND (state IN ('running', 'paused') OR state = 'ending' AND %(state)s::text = 'ending');

-- name: sessions
-- Does any live, and when was the last one seen.
SELECT coalesce(bool_or(fenced_at IS NULL AND lease_until >= %s), false), coalesce(max(seen_at), 0) FROM workers;

-- name: unpark
-- In the order of id, as all who lock several queues.
UPDATE queues SET held = 0 WHERE id IN (SELECT id FROM queues WHERE crawl = %s AND held = -1 AND due IS NOT NULL ORDER BY id FOR UPDATE);

-- name: wait_for_flushes
-- Every flush holds its session's row: those under way end first, others begin only after this transaction.
SELECT id FROM workers WHERE fenced_at IS NULL ORDER BY id FOR UPDATE;

-- name: set_settings
-- While there was no max_pages nobody counted: what is there now counts against the first one.
UPDATE crawls SET settings = %(settings)s::jsonb, control = (SELECT version + 1 FROM control),
  pages_granted = CASE WHEN settings->'limits'->>'max_pages' IS NOT NULL THEN pages_granted
    ELSE (SELECT coalesce(sum(n), 0) FROM tallies WHERE crawl = %(crawl)s AND name = 'visited') + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = %(crawl)s) END
WHERE id = %(crawl)s;

-- name: lagging
-- A session whose lease is over does nothing any more, whatever it has seen.
SELECT EXISTS(SELECT 1 FROM workers WHERE fenced_at IS NULL AND lease_until >= %s AND control_seen < %s);

-- name: tallies
SELECT name, sum(n)::bigint FROM tallies WHERE crawl = %s GROUP BY name;

-- name: in_flight
SELECT count(*) FROM workers w CROSS JOIN LATERAL json_array_elements(w.in_flight::json) j
JOIN frontier f ON f.url = (j->>0)::bigint JOIN queues q ON q.id = f.queue WHERE w.fenced_at IS NULL AND q.crawl = %s;

-- name: refusals
-- Of one host: of each worker's rows by their key, so that nothing is scanned.
SELECT host, reason, sum(n)::bigint FROM refusals
WHERE crawl = %(crawl)s AND (%(host)s::text IS NULL OR worker = ANY(ARRAY(SELECT id FROM workers UNION SELECT 0)) AND host = %(host)s)
GROUP BY host, reason ORDER BY 3 DESC, host, reason;

-- name: ancestors
-- In order: a chain is walked link by link.
WITH RECURSIVE chain(id, steps) AS (SELECT parent, 1 FROM urls WHERE id = %(url)s
  UNION ALL SELECT u.parent, steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE steps < %(limit)s)
SELECT id FROM chain WHERE id IS NOT NULL ORDER BY steps LIMIT %(limit)s;

-- name: sizes
SELECT name, sum(n)::bigint FROM tallies WHERE name IN ('urls', 'visited', 'bytes') GROUP BY name;

-- name: store_bytes
SELECT pg_database_size(current_database());

-- name: archive_bytes
SELECT coalesce(sum(bytes), 0)::bigint FROM archive_files;

-- name: range_of_crawl
-- Its first and last URL between the bounds: a listing stays there, not among the thousands of rows that another crawl has before or behind.
SELECT min(id), max(id) FROM urls WHERE crawl = %(crawl)s AND id > %(low)s AND id <= %(high)s;

-- name: all_urls
-- The ids of a listing between two bounds, in this and the next three; filters are conditions, what they do not ask for the planner leaves out.
-- The bounds stand at each table: the planner does not conclude them from one for the others.
SELECT u.id AS id FROM urls u LEFT JOIN pages p ON p.url = u.id AND p.url > %(low)s AND p.url <= %(high)s
LEFT JOIN frontier f ON f.url = u.id AND f.url > %(low)s AND f.url <= %(high)s
WHERE u.crawl = %(crawl)s AND u.id > %(low)s AND u.id <= %(high)s /* conditions */;

-- name: open_urls
SELECT f.url AS id FROM frontier f JOIN urls u ON u.id = f.url LEFT JOIN pages p ON p.url = f.url
WHERE u.crawl = %(crawl)s AND u.id > %(low)s AND u.id <= %(high)s AND f.url > %(low)s AND f.url <= %(high)s /* conditions */;

-- name: ended_urls
-- In one state: a range of pages_state in the order of the listing, which several states are not.
SELECT p.url AS id FROM pages p LEFT JOIN urls u ON u.id = p.url LEFT JOIN frontier f ON f.url = p.url
WHERE p.crawl = %(crawl)s AND p.state = %(state)s AND p.url > %(low)s AND p.url <= %(high)s /* conditions */;

-- name: urls_of_queue
-- By key, then sorted. OFFSET 0 and the bounds outside: else the planner goes by id through millions of URLs of other hosts (300 ms).
SELECT u.id AS id FROM (SELECT * FROM urls WHERE queue = %(queue)s OFFSET 0) u LEFT JOIN pages p ON p.url = u.id LEFT JOIN frontier f ON f.url = u.id
WHERE u.id > %(low)s AND u.id <= %(high)s /* conditions */;

-- name: queue_rows
-- How many a queue has, counted up to a bound.
SELECT q.id, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id LIMIT %(rows_max)s) o) FROM queues q WHERE q.crawl = %(crawl)s AND q.host = %(host)s;

-- name: linking
SELECT url, links FROM pages WHERE url = ANY(%s) ORDER BY url;

-- name: linked_ids
-- Of each range of keys its place in the list and the URL in it.
SELECT link.position - 1, u.id FROM unnest(%s, %s, %s) WITH ORDINALITY AS link(queue, least, greatest, position)
JOIN urls u ON u.queue = link.queue AND u.key BETWEEN link.least AND link.greatest;

-- name: errors
-- The latest first; of one crawl, or of all.
SELECT e.id, e.at, e.worker, e.crawl, e.url, coalesce(u.url, ''), e.reason, e.detail, e.tries FROM
  (SELECT * FROM errors WHERE %(crawl)s::bigint IS NULL OR crawl = %(crawl)s::bigint ORDER BY id DESC LIMIT %(limit)s) e LEFT JOIN urls u ON u.id = e.url
ORDER BY e.id DESC;

-- name: url_columns
SELECT u.id, u.url, coalesce(p.state, 0), coalesce(p.reason, f.reason), p.status, p.content_type, u.depth, u.parent, u.raw, p.title, p.content_hash, p.body_bytes,
  p.fetched_at, p.total_ms, coalesce(p.tries, f.tries, 0), a.name, p."offset", p.length, p.redirect_to, q.host, u.kind, coalesce(f.not_before, 0), p.error
FROM urls u JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.url = u.id LEFT JOIN frontier f ON f.url = u.id LEFT JOIN archive_files a ON a.id = p.file
WHERE;

-- name: page_facts
-- Not of a URL that ended without a request: its page only says how it ended.
SELECT facts, ip, protocol, charset, wire_bytes, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, truncated, links, refused
FROM pages WHERE url = %s AND (status IS NOT NULL OR error IS NOT NULL);

-- name: linked
SELECT u.url FROM unnest(%s::bigint[], %s::bytea[], %s::bytea[]) WITH ORDINALITY AS link(queue, least, greatest, position)
JOIN urls u ON u.queue = link.queue AND u.key BETWEEN link.least AND link.greatest ORDER BY link.position;

-- name: claims
SELECT w.id, (j->>0)::bigint, (j->>1)::bigint FROM workers w CROSS JOIN LATERAL json_array_elements(w.in_flight::json) j WHERE w.fenced_at IS NULL;

-- name: robots
SELECT origin, host, access, status, body, expires_at, failures, detail, fetched_at FROM robots WHERE host = %s AND origin = %s;

-- name: robots_of_host
SELECT origin, host, access, status, body, expires_at, failures, detail, fetched_at FROM robots WHERE host = %s ORDER BY origin LIMIT %s;

-- name: host
SELECT host, next_at, delay_ms, requests, latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms, rest_reason, addresses, cnames
FROM hosts WHERE host = %s;

-- name: addresses
SELECT host, addresses FROM hosts WHERE host = ANY(%s) AND addresses <> '';

-- name: queue
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM frontier WHERE queue = q.id LIMIT %(open_max)s) o), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead
FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = %(crawl)s AND q.host = %(host)s;

-- name: queues
-- Those that a worker holds first: the busy ones are among them. Each part ends at its limit, so that 100,000 active hosts are not sorted once a second.
-- Rows are counted only of the queues that are shown.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM frontier WHERE queue = q.id LIMIT %(open_max)s) o), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead
FROM (SELECT * FROM (
    (SELECT held.* FROM partitions p CROSS JOIN LATERAL
      (SELECT * FROM queues WHERE part = p.part AND held > 0 AND due IS NOT NULL AND crawl = %(crawl)s LIMIT %(limit)s) held LIMIT %(limit)s)
    UNION (SELECT * FROM queues WHERE crawl = %(crawl)s AND due IS NOT NULL LIMIT %(limit)s)) active
  ORDER BY held DESC LIMIT %(limit)s) q LEFT JOIN hosts h ON h.host = q.host;

-- name: hosts_of_crawl
-- The robots.txt of the origin that was asked last stands for its host.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM frontier WHERE queue = q.id LIMIT %(open_max)s) o), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead,
  h.host, h.next_at, h.delay_ms, h.requests, h.latency_ms, h.slowdown, h.errors, h.strikes, h.nxdomain, h.crawl_delay_ms, h.override_ms, h.rest_reason, h.addresses, h.cnames,
  r.version, r.access
FROM (SELECT * FROM queues WHERE crawl = %(crawl)s AND host > %(after)s ORDER BY host LIMIT %(limit)s) q LEFT JOIN hosts h ON h.host = q.host
  LEFT JOIN LATERAL (SELECT version, access FROM robots WHERE host = q.host ORDER BY fetched_at DESC, origin LIMIT 1) r ON true
ORDER BY q.host;

-- name: last_host
-- The so manieth host behind another one.
SELECT host FROM hosts WHERE host > %(after)s ORDER BY host LIMIT 1 OFFSET %(rows_max)s - 1;

-- name: all_hosts
-- Up to a name, where one is given; without `text` all pass.
SELECT h.host, h.next_at, h.delay_ms, h.requests, h.latency_ms, h.slowdown, h.errors, h.strikes, h.nxdomain, h.crawl_delay_ms, h.override_ms, h.rest_reason, h.addresses, h.cnames,
  r.version, r.access
FROM (SELECT * FROM hosts WHERE host > %(after)s AND (%(last)s::text IS NULL OR host <= %(last)s) AND strpos(host, %(text)s) > 0 ORDER BY host LIMIT %(limit)s) h
  LEFT JOIN LATERAL (SELECT version, access FROM robots WHERE host = h.host ORDER BY fetched_at DESC, origin LIMIT 1) r ON true
ORDER BY h.host;

-- name: workers
SELECT w.id, w.name, w.pid, w.version, w.started_at, w.seen_at, coalesce(owned.parts, 0), w.flush_seq, w.in_flight, w.pages, w.pages_per_s, w.cpu, w.rss_bytes,
  w.fenced_at IS NULL AND w.lease_until >= %s
FROM workers w LEFT JOIN (SELECT owner, count(*) AS parts FROM partitions GROUP BY owner) owned ON owned.owner = w.id ORDER BY w.id DESC LIMIT 1000;

-- name: urls_by_id
SELECT id, url FROM urls WHERE id = ANY(%s::bigint[]);

-- name: suspect
UPDATE frontier SET crashes = crashes + 1 WHERE url = %s;

-- name: mark_deleted
UPDATE crawls SET deleted = true, state = 'cancelled', control = (SELECT version + 1 FROM control) WHERE id = %s;

-- name: files_of_crawl
-- That no other crawl's pages name; without those of living sessions: they may be writing another crawl's pages into them just now.
SELECT name FROM archive_files WHERE worker NOT IN (SELECT id FROM workers WHERE fenced_at IS NULL)
  AND id IN (SELECT file FROM pages WHERE crawl = %(crawl)s) AND id NOT IN (SELECT file FROM pages WHERE crawl <> %(crawl)s AND file IS NOT NULL) ORDER BY name;

-- name: forget_file
DELETE FROM archive_files WHERE name = %s;

-- name: archived
SELECT p.url, p.url, a.name, p."offset", p.length, p.content_hash FROM pages p JOIN archive_files a ON a.id = p.file WHERE p.url > %s ORDER BY p.url LIMIT %s;

-- name: archive_files
SELECT name, worker, open, cut FROM archive_files ORDER BY id;

-- name: archive_sizes
SELECT name, bytes FROM archive_files ORDER BY id;

-- name: pages_in_file
SELECT u.id, u.crawl, u.url, q.host, u.kind, p.state, p.title, p.content_type, p.fetched_at, p."offset", p.length, p.facts
FROM pages p JOIN urls u ON u.id = p.url JOIN queues q ON q.id = u.queue
WHERE p.file = (SELECT id FROM archive_files WHERE name = %s) AND p."offset" >= %s AND p."offset" < %s ORDER BY p."offset" LIMIT %s;

-- name: kept_crawls
SELECT id FROM crawls WHERE NOT deleted ORDER BY id;

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

-- name: ended_without_page
-- The one row that says how it ended is missing.
SELECT u.id, u.url FROM urls u WHERE NOT EXISTS(SELECT 1 FROM pages p WHERE p.url = u.id) AND NOT EXISTS(SELECT 1 FROM frontier f WHERE f.url = u.id) LIMIT 20;

-- name: open_and_ended
SELECT u.id, u.url FROM frontier f JOIN pages p ON p.url = f.url JOIN urls u ON u.id = f.url LIMIT 20;

-- name: open_without_url
SELECT f.url FROM frontier f WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = f.url) LIMIT 20;

-- name: pages_without_url
SELECT p.url, p.url FROM pages p WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = p.url AND u.crawl = p.crawl) LIMIT 20;

-- name: counted
SELECT state, count(*) FROM pages WHERE crawl = %(crawl)s GROUP BY state
UNION ALL SELECT 0, count(*) FROM frontier f JOIN queues q ON q.id = f.queue WHERE q.crawl = %(crawl)s;
