-- The statements of a worker's flush, in the order of its transaction. `-- many` marks a row template that is repeated.

-- name: fence
-- The fence: no row means that this batch was committed before, or that the session is fenced.
UPDATE workers SET flush_seq = :seq, seen_at = :now, control_seen = :control_seen, in_flight = :in_flight
WHERE id = :worker AND flush_seq = :seq - 1 AND fenced_at IS NULL;

-- name: session
SELECT flush_seq, fenced_at FROM workers WHERE id = ?;

-- name: end_urls many
-- The permit: only an open row gets an outcome. (Ids of purged rows may be given again, crawl ids never: so both are asked.)
UPDATE urls SET state = v.column3, reason = v.column4, tries = v.column5, page = v.column6
FROM (VALUES (?,?,?,?,?,?)) AS v WHERE urls.id = v.column1 AND urls.crawl = v.column2 AND urls.state = 0;

-- name: has_page
SELECT 1 FROM urls WHERE id = ? AND page = ?;

-- name: last_page
SELECT coalesce(max(id), 0) FROM pages;

-- name: insert_pages many
INSERT INTO pages VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?);

-- name: find_queues
SELECT host, id FROM queues WHERE crawl = ?1 AND host IN (SELECT value FROM json_each(?2));

-- name: insert_queues many
INSERT INTO queues(crawl, host, part, due) VALUES (?,?,?,?) ON CONFLICT DO NOTHING;

-- name: insert_urls many
INSERT INTO urls(crawl, queue, key, url, depth, prio, parent, raw, kind, hops) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING;

-- name: is_known
SELECT 1 FROM urls WHERE queue = ? AND key = ?;

-- name: wake_queues
-- Free queues of ours that got rows. (A resting host's owner will send it back to rest.)
UPDATE queues SET due = :now WHERE id IN (SELECT value FROM json_each(:queues)) AND held = 0 AND (due IS NULL OR due > :now)
  AND part IN (SELECT value FROM json_each(:parts));

-- name: insert_arrivals
-- Queues of others that got rows: only the owner changes a queue, so it is told.
INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues
WHERE id IN (SELECT value FROM json_each(:queues)) AND part NOT IN (SELECT value FROM json_each(:parts));

-- name: retry_url
UPDATE urls SET not_before = ?, tries = ?, crashes = ?, reason = ? WHERE id = ? AND crawl = ? AND state = 0;

-- name: upsert_hosts many
INSERT INTO hosts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)
ON CONFLICT DO UPDATE SET next_at = excluded.next_at, delay_ms = excluded.delay_ms, latency_ms = excluded.latency_ms, slowdown = excluded.slowdown,
  errors = excluded.errors, strikes = excluded.strikes, nxdomain = excluded.nxdomain, crawl_delay_ms = excluded.crawl_delay_ms,
  rest_reason = excluded.rest_reason, requests = excluded.requests,
  addresses = iif(excluded.addresses = '', addresses, excluded.addresses), cnames = iif(excluded.addresses = '', cnames, excluded.cnames);

-- name: resolve_hosts many
-- Looked up without a request: of a known host the clock stays as it is.
INSERT INTO hosts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET addresses = excluded.addresses, cnames = excluded.cnames;

-- name: upsert_robots
INSERT INTO robots(host, origin, access, status, body, expires_at, failures, detail, fetched_at) VALUES (?,?,?,?,?,?,?,?,?)
ON CONFLICT DO UPDATE SET access = excluded.access, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at,
  failures = excluded.failures, detail = excluded.detail, fetched_at = excluded.fetched_at, version = version + (body IS NOT excluded.body);

-- name: end_rows
-- A chunk of a queue's open rows ends without a request.
UPDATE urls SET state = :state, reason = :reason WHERE id IN (SELECT id FROM urls INDEXED BY urls_open WHERE queue = :queue AND state = 0 LIMIT :chunk);

-- name: mark_dead
UPDATE queues SET dead = ? WHERE id = ?;

-- name: release_queues many
-- Due at its first open row, not before the host's rest ends; a dead queue at once: its rows end without a request.
UPDATE queues SET held = 0, fetched = v.column3, due =
  (SELECT iif(queues.dead = '', max(not_before, v.column4), v.column5) FROM urls INDEXED BY urls_open WHERE queue = queues.id AND state = 0 ORDER BY not_before LIMIT 1)
FROM (VALUES (?,?,?,?,?)) AS v WHERE queues.id = v.column1 AND queues.held = v.column2;

-- name: take_arrivals
DELETE FROM arrivals WHERE id IN (SELECT id FROM arrivals WHERE part IN (SELECT value FROM json_each(?)) LIMIT ?) RETURNING queue;

-- name: due_queues
-- Free queues with due work in our partitions; each partition is one range of the index.
SELECT q.id, q.crawl, q.host, q.fetched, q.dead, q.part FROM json_each(:parts) p CROSS JOIN queues q ON q.id IN
  (SELECT id FROM queues INDEXED BY queues_due WHERE part = p.value AND held = 0 AND due <= :now AND due IS NOT NULL ORDER BY due LIMIT :each)
LIMIT :limit;

-- name: ending_queues
-- Free queues of a crawl that ends, resting and parked ones too: nothing will be asked of their hosts.
SELECT id, dead FROM queues INDEXED BY queues_active
WHERE crawl = ?1 AND part IN (SELECT value FROM json_each(?2)) AND due IS NOT NULL AND held <= 0 LIMIT ?3;

-- name: hold_queues
-- The worker's id, or -1: parked while its crawl is paused.
UPDATE queues SET held = ? WHERE id IN (SELECT value FROM json_each(?));

-- name: rest_queue
-- Nothing to do now: due at its first open row, or never until something arrives.
UPDATE queues SET held = 0, due =
  (SELECT max(not_before, ?1) FROM urls INDEXED BY urls_open WHERE queue = queues.id AND state = 0 ORDER BY not_before LIMIT 1)
WHERE id = ?2;

-- name: windows
-- Of each queue the retries whose time has come, then fresh rows, both in the order of the index; the order of the answer is another.
-- One statement for all queues: one for each takes two to four times as long.
SELECT q.value, u.not_before, u.prio, u.id, u.url, u.depth, u.kind, u.hops, u.tries, u.crashes, u.raw FROM json_each(?1) q CROSS JOIN urls u
WHERE u.id IN (
  SELECT id FROM (SELECT id FROM urls INDEXED BY urls_open
    WHERE queue = q.value AND state = 0 AND not_before BETWEEN 1 AND ?2 ORDER BY not_before, prio, id LIMIT ?3)
  UNION ALL SELECT id FROM (SELECT id FROM urls INDEXED BY urls_open
    WHERE queue = q.value AND state = 0 AND not_before = 0 ORDER BY prio, id LIMIT ?3)
  LIMIT ?3);

-- name: hosts
SELECT host, next_at, latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms, rest_reason, requests, addresses <> '' FROM hosts
WHERE host IN (SELECT value FROM json_each(?));

-- name: robots_of_hosts
SELECT origin, host, access, status, body, expires_at, failures, detail, fetched_at FROM robots WHERE host IN (SELECT value FROM json_each(?));

-- name: next_due
SELECT min((SELECT min(due) FROM queues INDEXED BY queues_due WHERE part = p.value AND held = 0 AND due IS NOT NULL)) FROM json_each(?) p;

-- name: free_lost
-- After a lost answer: what is marked as ours but not in our hands is free again.
UPDATE queues SET held = 0 WHERE part IN (SELECT value FROM json_each(?1)) AND held = ?2 AND due IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?3));

-- name: use_grant
UPDATE grants SET pages = pages - ? WHERE crawl = ? AND worker = ?;

-- name: grant_of
SELECT pages FROM grants WHERE crawl = ? AND worker = ?;

-- name: pages_left
SELECT coalesce(json_extract(settings, '$.limits.max_pages'), 9223372036854775807) - pages_granted FROM crawls WHERE id = ?;

-- name: grant_pages
UPDATE crawls SET pages_granted = pages_granted + ? WHERE id = ?;

-- name: add_grant
INSERT INTO grants VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET pages = pages + excluded.pages;

-- name: granted_unused
SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = ?;

-- name: urls_left
SELECT json_extract(settings, '$.limits.max_urls') - urls_granted FROM crawls WHERE id = ? AND json_extract(settings, '$.limits.max_urls') IS NOT NULL;

-- name: grant_urls
UPDATE crawls SET urls_granted = urls_granted + ?1, limited_by = iif(?2, 'max_urls', limited_by) WHERE id = ?3;

-- name: end_crawl_at_limit
UPDATE crawls SET state = 'ending', reason = ?1, limited_by = ?2, control = (SELECT version + 1 FROM control) WHERE id = ?3 AND state IN ('running', 'paused');

-- name: open_crawls
SELECT id, state, reason, json_extract(settings, '$.limits.max_pages') IS NOT NULL FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: bump_control
UPDATE control SET version = version + 1;

-- name: control_version
SELECT version FROM control;

-- name: add_tally
INSERT INTO tallies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: add_refusal
INSERT INTO refusals VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: add_errors many
INSERT INTO errors(at, worker, crawl, url, reason, detail, tries) VALUES (?,?,?,?,?,?,?);

-- name: join_host
UPDATE crawls SET joined_hosts = json_insert(joined_hosts, '$[#]', ?1), control = (SELECT version FROM control)
WHERE id = ?2 AND ?1 NOT IN (SELECT value FROM json_each(joined_hosts));

-- name: add_archive_file
INSERT INTO archive_files(name, worker, bytes) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes RETURNING id;

-- name: hand_back
-- `forced_at` stays: the next owner too waits a full delay from then, however short the time between was.
UPDATE partitions SET owner = NULL WHERE part = ? AND owner = ?;
