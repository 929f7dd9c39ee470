-- What the command line and the API read and steer. Keyset pages, short transactions.

-- name: create_crawl
INSERT INTO crawls(uuid, seeds, settings, fingerprint, created_by, state, created_at, running_since) VALUES (?, ?, ?, ?, ?, 'running', ?, ?) RETURNING id;

-- name: unfinished_of
SELECT count(*) FROM crawls WHERE created_by = ? AND state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: request_key
SELECT crawl, fingerprint FROM request_keys WHERE key = ?;

-- name: add_request_key
INSERT INTO request_keys(key, fingerprint, crawl, created_at) VALUES (?, ?, ?, ?);

-- name: drop_request_keys
DELETE FROM request_keys WHERE crawl = ?;

-- name: seeded
UPDATE crawls SET seeding = 0 WHERE id = ?;

-- name: crawl
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since FROM crawls WHERE id = ? AND NOT deleted;

-- name: crawl_by_uuid
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since FROM crawls WHERE uuid = ? AND NOT deleted;

-- name: crawls
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since FROM crawls WHERE NOT deleted ORDER BY id;

-- name: crawl_uuids
SELECT id, uuid FROM crawls WHERE NOT deleted;

-- name: open_crawls
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, created_at, ended_at, active_ms, running_since FROM crawls
WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: unfinished
SELECT id FROM crawls WHERE fingerprint = ? AND state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id DESC LIMIT 1;

-- name: steer
-- What ends cannot be called back: some of its rows have ended already.
UPDATE crawls SET state = :state, reason = :reason, control = (SELECT version FROM control),
  active_ms = active_ms + iif(:state = 'running' AND :alive, 0, max(0, coalesce(:until - running_since, 0))),
  running_since = iif(:state = 'running', iif(:alive, coalesce(running_since, :now), :now), NULL)
WHERE id = :crawl AND (state IN ('running', 'paused') OR state = 'ending' AND :state = 'ending');

-- name: last_seen
SELECT coalesce(max(seen_at), 0) FROM workers;

-- name: unpark
UPDATE queues SET held = 0 WHERE crawl = ? AND held = -1 AND due IS NOT NULL;

-- name: set_settings
-- While there was no max_pages nobody counted: what is there now counts against the first one.
UPDATE crawls SET settings = :settings, control = (SELECT version FROM control),
  pages_granted = iif(json_extract(settings, '$.limits.max_pages') IS NOT NULL, pages_granted,
    (SELECT coalesce(sum(n), 0) FROM tallies WHERE crawl = :crawl AND name = 'visited') + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = :crawl))
WHERE id = :crawl;

-- name: lagging
-- Living sessions that have not yet seen a control version; their liveness is checked by the caller.
SELECT id, session FROM workers WHERE fenced_at IS NULL AND control_seen < ?;

-- name: tallies
SELECT name, sum(n) FROM tallies WHERE crawl = ? GROUP BY name;

-- name: in_flight
SELECT count(*) FROM workers w CROSS JOIN json_each(w.in_flight) j CROSS JOIN urls u ON u.id = json_extract(j.value, '$[0]') WHERE w.fenced_at IS NULL AND u.crawl = ? AND u.state = 0;

-- name: refusals
-- A range of hosts: one, or all. (Of a URL that is none the host is empty.)
SELECT host, reason, n FROM refusals WHERE crawl = ? AND host BETWEEN ? AND ? ORDER BY n DESC;

-- name: ancestors
-- In order: a chain is walked link by link.
WITH RECURSIVE chain(id, steps) AS (SELECT parent, 1 FROM urls WHERE id = ?1
  UNION ALL SELECT u.parent, steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE steps < ?2)
SELECT id FROM chain WHERE id IS NOT NULL ORDER BY steps LIMIT ?2;

-- name: sizes
SELECT name, sum(n) FROM tallies WHERE name IN ('urls', 'visited', 'bytes') GROUP BY name;

-- name: store_bytes
SELECT page_count * page_size FROM pragma_page_count, pragma_page_size;

-- name: archive_bytes
SELECT coalesce(sum(bytes), 0) FROM archive_files;

-- name: urls_of_crawl
-- The ids of a listing between two bounds, in this and the next four; each is one range of its index, filters are conditions.
SELECT u.id AS id FROM urls u INDEXED BY urls_crawl LEFT JOIN pages p ON p.id = u.page
WHERE u.crawl = :crawl AND u.id > :low AND u.id <= :high /* conditions */;

-- name: urls_ended
-- In one state other than visited.
SELECT u.id AS id FROM urls u INDEXED BY urls_ended LEFT JOIN pages p ON p.id = u.page
WHERE u.crawl = :crawl AND u.state > 1 AND u.state = :state AND u.id > :low AND u.id <= :high /* conditions */;

-- name: urls_open
-- Where few are open: through their queues, also those that sleep until their owner hears of an arrival.
SELECT u.id AS id FROM (SELECT id FROM queues INDEXED BY queues_active WHERE crawl = :crawl AND due IS NOT NULL UNION SELECT queue FROM arrivals WHERE crawl = :crawl) q
CROSS JOIN urls u INDEXED BY urls_open ON u.queue = q.id AND u.state = 0 LEFT JOIN pages p ON p.id = u.page
WHERE u.id > :low AND u.id <= :high /* conditions */;

-- name: urls_in_flight
SELECT u.id AS id FROM json_each(:claimed) c CROSS JOIN urls u ON u.id = c.value LEFT JOIN pages p ON p.id = u.page
WHERE u.crawl = :crawl AND u.id > :low AND u.id <= :high /* conditions */;

-- name: urls_of_queue
-- By key: they must be sorted.
SELECT u.id AS id FROM urls u INDEXED BY urls_key LEFT JOIN pages p ON p.id = u.page
WHERE u.queue = :queue AND u.id > :low AND u.id <= :high /* conditions */;

-- name: queue_rows
-- How many a queue has, counted up to a bound.
SELECT q.id, (SELECT count(*) FROM (SELECT 1 FROM urls INDEXED BY urls_key WHERE queue = q.id LIMIT :rows_max)) FROM queues q WHERE q.crawl = :crawl AND q.host = :host;

-- name: linking
SELECT u.id, p.links FROM json_each(?) wanted CROSS JOIN urls u ON u.id = wanted.value JOIN pages p ON p.id = u.page ORDER BY u.id;

-- name: linked_ids
-- Of each range of keys its place in the list and the URL in it.
SELECT link.key, u.id FROM json_each(?) link CROSS JOIN urls u INDEXED BY urls_key
  ON u.queue = link.value ->> 0 AND u.key BETWEEN unhex(link.value ->> 1) AND unhex(link.value ->> 2);

-- name: errors
-- The latest first; of one crawl, or of all.
SELECT e.id, e.at, e.worker, e.crawl, e.url, coalesce(u.url, ''), e.reason, e.detail, e.tries FROM errors e LEFT JOIN urls u ON u.id = e.url AND u.crawl = e.crawl
WHERE :crawl IS NULL OR e.crawl = :crawl ORDER BY e.id DESC LIMIT :limit;

-- name: url_columns
SELECT u.id, u.url, u.state, u.reason, p.status, p.content_type, u.depth, u.parent, u.raw, p.title, p.content_hash, p.body_bytes, p.fetched_at, p.total_ms, u.tries,
  f.name, p."offset", p.length, p.redirect_to, q.host, u.kind, u.not_before, p.error
FROM urls u JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.id = u.page LEFT JOIN archive_files f ON f.id = p.file
WHERE;

-- name: page_facts
SELECT p.facts, p.ip, p.protocol, p.charset, p.wire_bytes, p.dns_ms, p.connect_ms, p.tls_ms, p.first_byte_ms, p.total_ms, p.truncated, p.links, p.refused
FROM pages p WHERE p.id = (SELECT page FROM urls WHERE id = ?);

-- name: claims
SELECT w.id, json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]') FROM workers w, json_each(w.in_flight) j WHERE w.fenced_at IS NULL;

-- name: robots
SELECT origin, host, access, status, body, expires_at, failures, detail, fetched_at FROM robots WHERE origin = ?2 AND host = ?1;

-- name: robots_of_host
SELECT origin, host, access, status, body, expires_at, failures, detail, fetched_at FROM robots WHERE host = ? ORDER BY origin LIMIT ?;

-- name: host
SELECT host, next_at, delay_ms, requests, latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms, rest_reason, addresses, cnames FROM hosts WHERE host = ?;

-- name: addresses
SELECT host, addresses FROM hosts WHERE host IN (SELECT value FROM json_each(?)) AND addresses <> '';

-- name: queue_columns
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id AND state = 0 LIMIT :open_max)), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead
FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = :crawl AND;

-- name: active_queues
-- Those that a worker holds first: the busy ones are among them. Each part ends at its limit, so that 100,000 active hosts are not sorted once a second.
SELECT id FROM (
  SELECT * FROM (SELECT held.id, held.held FROM partitions p CROSS JOIN queues held INDEXED BY queues_due
    ON held.part = p.part AND held.held > 0 AND held.due IS NOT NULL WHERE held.crawl = :crawl LIMIT :limit)
  UNION SELECT * FROM (SELECT id, held FROM queues INDEXED BY queues_active WHERE crawl = :crawl AND due IS NOT NULL LIMIT :limit))
ORDER BY held DESC LIMIT :limit;

-- name: hosts_of_crawl
-- The robots.txt of the origin that was asked last stands for its host.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id AND state = 0 LIMIT :open_max)), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead,
  h.host, h.next_at, h.delay_ms, h.requests, h.latency_ms, h.slowdown, h.errors, h.strikes, h.nxdomain, h.crawl_delay_ms, h.override_ms, h.rest_reason, h.addresses, h.cnames,
  r.version, r.access
FROM queues q LEFT JOIN hosts h ON h.host = q.host
  LEFT JOIN robots r ON r.host = q.host AND r.origin = (SELECT origin FROM robots WHERE host = q.host ORDER BY fetched_at DESC, origin LIMIT 1)
WHERE q.crawl = :crawl AND q.host > :after ORDER BY q.host LIMIT :limit;

-- name: last_host
-- The so manieth host behind another one.
SELECT host FROM hosts WHERE host > :after ORDER BY host LIMIT 1 OFFSET :rows_max - 1;

-- name: all_hosts
-- Between two names; without `text` all pass.
SELECT h.host, h.next_at, h.delay_ms, h.requests, h.latency_ms, h.slowdown, h.errors, h.strikes, h.nxdomain, h.crawl_delay_ms, h.override_ms, h.rest_reason, h.addresses, h.cnames,
  r.version, r.access
FROM (SELECT * FROM hosts WHERE host > :after AND host <= :last AND instr(host, :text) ORDER BY host LIMIT :limit) h
  LEFT JOIN robots r ON r.host = h.host AND r.origin = (SELECT origin FROM robots WHERE host = h.host ORDER BY fetched_at DESC, origin LIMIT 1)
ORDER BY h.host;

-- name: workers
SELECT w.id, w.name, w.pid, w.version, w.started_at, w.seen_at, (SELECT count(*) FROM partitions WHERE owner = w.id), w.flush_seq, w.in_flight,
  w.pages, w.pages_per_s, w.cpu, w.rss_bytes, w.fenced_at, w.session
FROM workers w ORDER BY w.id DESC LIMIT 1000;

-- name: urls_by_id
SELECT id, url FROM urls WHERE id IN (SELECT value FROM json_each(?));

-- name: linked
SELECT url FROM urls WHERE queue = ? AND key BETWEEN ? AND ?;

-- name: suspect
UPDATE urls SET crashes = crashes + 1 WHERE id = ? AND state = 0;

-- name: mark_deleted
UPDATE crawls SET deleted = 1, state = 'cancelled', control = (SELECT version FROM control) WHERE id = ?;

-- name: files_of_crawl
-- Without the files of living sessions: they may be writing another crawl's pages into them just now.
SELECT DISTINCT f.name FROM urls u JOIN pages p ON p.id = u.page JOIN archive_files f ON f.id = p.file
WHERE u.crawl = ? AND f.worker NOT IN (SELECT id FROM workers WHERE fenced_at IS NULL);

-- name: files_of_others
SELECT DISTINCT f.name FROM urls u JOIN pages p ON p.id = u.page JOIN archive_files f ON f.id = p.file WHERE u.crawl <> ?;

-- name: forget_file
DELETE FROM archive_files WHERE name = ?;

-- name: archived
SELECT p.id, p.url, f.name, p."offset", p.length, p.content_hash FROM pages p JOIN archive_files f ON f.id = p.file WHERE p.id > ? ORDER BY p.id LIMIT ?;

-- name: archive_files
SELECT name, worker, open, cut FROM archive_files ORDER BY id;

-- name: archive_sizes
SELECT name, bytes FROM archive_files ORDER BY id;

-- name: pages_in_file
SELECT u.id, u.crawl, u.url, q.host, u.kind, u.state, p.title, p.content_type, p.fetched_at, p."offset", p.length, p.facts
FROM pages p INDEXED BY pages_place JOIN urls u ON u.id = p.url AND u.page = p.id JOIN queues q ON q.id = u.queue
WHERE p.file = (SELECT id FROM archive_files WHERE name = ?) AND p."offset" >= ? AND p."offset" < ? ORDER BY p."offset" LIMIT ?;

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

-- name: ended_without_page
SELECT u.id, u.url FROM urls u WHERE u.state IN (1, 2, 3, 4, 5) AND NOT EXISTS(SELECT 1 FROM pages p WHERE p.id = u.page AND p.url = u.id) LIMIT 20;

-- name: pages_without_url
SELECT p.id, p.url FROM pages p WHERE NOT EXISTS(SELECT 1 FROM urls u WHERE u.id = p.url AND u.page = p.id) LIMIT 20;

-- name: counted
SELECT state, count(*) FROM urls WHERE crawl = ? GROUP BY state;

-- name: damaged
SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok' LIMIT 10;
