-- The statements of a worker's flush, in the order of its transaction. `many` marks a statement whose VALUES row is repeated.
-- `{hosts}` names the columns that columns.py lists under hosts, `{hosts: h.*}` writes each of them in the place of the asterisk.

-- name: fence
-- The fence: no row means that this batch was committed before, or that the session is fenced.
UPDATE workers SET flush_seq = :seq, seen_at = :now, control_seen = :control_seen, in_flight = :in_flight
WHERE id = :worker AND flush_seq = :seq - 1 AND fenced_at IS NULL;

-- name: session
SELECT flush_seq, fenced_at FROM workers WHERE id = ?;

-- name: grants_of
SELECT crawl, pages FROM grants WHERE worker = ?;

-- name: end_urls many
-- The permit: only an open row gets an outcome. (Ids of purged rows may be given again, crawl ids never: so both are asked.)
UPDATE urls SET changed_at = ?1, state = v.column3, reason = v.column4, tries = v.column5, page = v.column6
FROM (VALUES (?,?,?,?,?,?)) AS v WHERE urls.id = v.column1 AND urls.crawl = v.column2 AND urls.state = 0;

-- name: has_page
SELECT 1 FROM urls WHERE id = ? AND page = ?;

-- name: last_page
SELECT coalesce(max(id), 0) FROM pages;

-- name: insert_pages many
INSERT INTO pages(id, url, file, {pages}) VALUES (?, ?, ?, {pages: ?});

-- name: find_queues
SELECT host, id FROM queues WHERE crawl = ?1 AND host IN (SELECT value FROM json_each(?2));

-- name: insert_queues many
INSERT INTO queues(crawl, host, part, due) VALUES (?,?,?,?) ON CONFLICT DO NOTHING;

-- name: insert_urls many
-- The first parameter is the time now, of all rows.
INSERT INTO urls(changed_at, {urls}) VALUES (?1, {urls: ?}) ON CONFLICT DO NOTHING;

-- name: add_sitemap_entry
INSERT INTO sitemap_entries(crawl, url, sitemap, lastmod, priority, notes) SELECT ?1, id, ?2, ?3, ?4, ?5 FROM urls WHERE queue = ?6 AND key = ?7 ON CONFLICT DO NOTHING;

-- name: new_since
-- What this statement inserted, by kind and depth: ids grow, and nobody else writes meanwhile.
SELECT kind, depth, count(*) FROM urls WHERE id > ? GROUP BY kind, depth;

-- name: remove_empty
-- New queues that a limit let no row into.
DELETE FROM queues WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS(SELECT 1 FROM urls WHERE queue = queues.id) RETURNING host;

-- name: add_change
INSERT INTO changes(crawl, number, ended, first, last, urls)
VALUES (?1, coalesce((SELECT max(number) FROM changes WHERE crawl = ?1), 0) + 1, ?2, ?3, ?4, ?5);

-- name: known many
-- The keys of those that exist.
SELECT u.key FROM (VALUES (?,?)) AS v CROSS JOIN urls u INDEXED BY urls_key ON u.queue = v.column1 AND u.key = v.column2;

-- name: wake_queues
-- Wakes free queues of ours that got rows. (The owner of a resting host sends them back to rest.)
UPDATE queues SET due = :now WHERE id IN (SELECT value FROM json_each(:queues)) AND held = 0 AND (due IS NULL OR due > :now)
  AND part IN (SELECT value FROM json_each(:parts));

-- name: insert_arrivals
-- Tells the owners of other queues that they got rows: only the owner changes a queue.
INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues
WHERE id IN (SELECT value FROM json_each(:queues)) AND part NOT IN (SELECT value FROM json_each(:parts));

-- name: retry_url
UPDATE urls SET changed_at = ?, not_before = ?, tries = ?, crashes = ?, limited = ?, reason = ? WHERE id = ? AND crawl = ? AND state = 0;

-- name: upsert_hosts many
INSERT INTO hosts({hosts}) VALUES ({hosts: ?})
ON CONFLICT DO UPDATE SET {hosts_clock: * = excluded.*},
  addresses = iif(excluded.addresses = '', addresses, excluded.addresses), cnames = iif(excluded.addresses = '', cnames, excluded.cnames);

-- name: resolve_hosts many
-- Hosts that were looked up without a request: the clock of a known one stays as it is.
INSERT INTO hosts({hosts}) VALUES ({hosts: ?}) ON CONFLICT DO UPDATE SET addresses = excluded.addresses, cnames = excluded.cnames;

-- name: upsert_robots
INSERT INTO robots({robots}) VALUES ({robots: ?})
ON CONFLICT DO UPDATE SET {robots_answer: * = excluded.*}, version = version + (body IS NOT excluded.body);

-- name: end_rows
-- Ends a chunk of the open rows of these queues without a request.
UPDATE urls SET state = :state, reason = :reason, changed_at = :now WHERE id IN (
  SELECT u.id FROM json_each(:queues) q CROSS JOIN urls u INDEXED BY urls_open ON u.queue = q.value AND u.state = 0 LIMIT :chunk) RETURNING id, kind;

-- name: mark_dead
UPDATE queues SET dead = ? WHERE id = ?;

-- name: release_queues many
-- The queue is due at its first open row, not before the host's rest ends; a dead one at once: its rows end without a request.
UPDATE queues SET held = 0, fetched = v.column3, due =
  (SELECT iif(queues.dead = '', max(not_before, v.column4), v.column5) FROM urls INDEXED BY urls_open WHERE queue = queues.id AND state = 0 ORDER BY not_before LIMIT 1)
FROM (VALUES (?,?,?,?,?)) AS v WHERE queues.id = v.column1 AND queues.held = v.column2;

-- name: note_fetched many
UPDATE queues SET fetched = v.column3 FROM (VALUES (?,?,?)) AS v WHERE queues.id = v.column1 AND queues.held = v.column2;

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

-- name: rest_queues
-- A queue without work now is due at its first open row, or sleeps until something arrives.
UPDATE queues SET held = 0, due =
  (SELECT max(not_before, ?1) FROM urls INDEXED BY urls_open WHERE queue = queues.id AND state = 0 ORDER BY not_before LIMIT 1)
WHERE id IN (SELECT value FROM json_each(?2));

-- name: windows
-- The window of each queue: retries whose time has come, then fresh rows, both in the order of the index. The answer is not sorted.
-- One statement for all queues: one for each takes two to four times as long.
SELECT q.value, u.not_before, u.prio, {rows: u.*} FROM json_each(?1) q CROSS JOIN urls u
WHERE u.id IN (
  SELECT id FROM (SELECT id FROM urls INDEXED BY urls_open
    WHERE queue = q.value AND state = 0 AND not_before BETWEEN 1 AND ?2 ORDER BY not_before, prio, id LIMIT ?3)
  UNION ALL SELECT id FROM (SELECT id FROM urls INDEXED BY urls_open
    WHERE queue = q.value AND state = 0 AND not_before = 0 ORDER BY prio, id LIMIT ?3)
  LIMIT ?3);

-- name: hosts
SELECT {hosts} FROM hosts WHERE host IN (SELECT value FROM json_each(?));

-- name: robots_of_hosts
SELECT {robots} FROM robots WHERE host IN (SELECT value FROM json_each(?));

-- name: next_due
SELECT min((SELECT min(due) FROM queues INDEXED BY queues_due WHERE part = p.value AND held = 0 AND due IS NOT NULL)) FROM json_each(?) p;

-- name: free_lost
-- Queues that are marked as ours but not held are free again: the answer that handed them out was lost.
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

-- name: limits
-- What max_urls leaves, and max_frontier, unless upkeep evicts: each NULL where it is not set.
SELECT json_extract(settings, '$.limits.max_urls') - urls_granted, iif(json_extract(settings, '$.limits.evict'), NULL, json_extract(settings, '$.limits.max_frontier'))
FROM crawls WHERE id = ?;

-- name: grant_urls
-- max_urls, once met, stays met: it is the limit that is named, unless max_pages was met before.
UPDATE crawls SET urls_granted = urls_granted + ?1, limited_by = iif(limited_by <> 'max_pages' AND (?2 = 'max_urls' OR limited_by = ''), ?2, limited_by) WHERE id = ?3;

-- name: end_crawl_at_limit
UPDATE crawls SET state = 'ending', reason = ?1, limited_by = ?2, control = (SELECT version + 1 FROM control) WHERE id = ?3 AND state IN ('running', 'paused');

-- name: end_pages_at_limit
-- A crawl with requisites goes on at max_pages, until it has those of its pages: only its open pages end. No row: it was here before.
UPDATE crawls SET limited_by = 'max_pages', control = (SELECT version + 1 FROM control) WHERE id = ? AND state IN ('running', 'paused') AND limited_by <> 'max_pages';

-- name: outlives_pages
SELECT coalesce(json_extract(settings, '$.scope.requisites'), 'none') <> 'none' FROM crawls WHERE id = ?;

-- name: open_crawls
SELECT id, state, reason, json_extract(settings, '$.limits.max_pages') IS NOT NULL FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: bump_control
UPDATE control SET version = version + 1;

-- name: control_version
SELECT version FROM control;

-- name: add_tally
INSERT INTO tallies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = iif(name = 'depth_max', max(n, excluded.n), n + excluded.n);

-- name: add_throughput
INSERT INTO throughput VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET pages = pages + excluded.pages, errors = errors + excluded.errors;

-- name: add_refused_rule
INSERT INTO refused_rules VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: add_refused_link
INSERT OR IGNORE INTO refused_links SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE (SELECT count(*) FROM refused_links WHERE crawl = ?1 AND reason = ?2 AND rule = ?3 AND host = ?4) < ?7;

-- name: add_refusal
INSERT INTO refusals VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: add_errors many
INSERT INTO errors({errors}) VALUES ({errors: ?});

-- name: joined_hosts
SELECT joined_hosts FROM crawls WHERE id = ?;

-- name: join_hosts
UPDATE crawls SET joined_hosts = ?, control = (SELECT version FROM control) WHERE id = ?;

-- name: add_archive_file
INSERT INTO archive_files(name, worker, bytes) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes RETURNING id;

-- name: hand_back
-- `forced_at` stays, so that the next owner too waits a full delay since then.
UPDATE partitions SET owner = NULL WHERE part = ? AND owner = ?;
