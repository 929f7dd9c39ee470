-- What the command line and the API read and steer. Keyset pages, short transactions.

-- name: time
-- The clock of the machine, and what StoreClock makes the time of the store of.
SELECT :now, offset_ms, seen_at FROM store_clock;

-- name: note_time
-- Nothing where another was first.
UPDATE store_clock SET offset_ms = :offset_ms, seen_at = :seen_at WHERE offset_ms = :known_offset_ms AND seen_at = :known_at;

-- name: create_crawl
INSERT INTO crawls(uuid, seeds, seed_sent, allowed_hosts, settings, fingerprint, created_by, name, labels, state, created_at, running_since, control)
VALUES (:uuid, :seeds, :seed_sent, :allowed_hosts, :settings, :fingerprint, :created_by, :name, :labels, 'running', :now, :now, (SELECT version + 1 FROM control)) RETURNING id;

-- name: unfinished_of
SELECT count(*) FROM crawls WHERE created_by = :created_by AND state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: take_request_key
INSERT INTO request_keys(key, fingerprint, crawl, created_at) VALUES (:key, :fingerprint, 0, :now) ON CONFLICT DO NOTHING;

-- name: request_key
SELECT crawl, fingerprint FROM request_keys WHERE key = :key;

-- name: fill_request_key
UPDATE request_keys SET crawl = :crawl WHERE key = :key;

-- name: drop_request_keys
DELETE FROM request_keys WHERE crawl = :crawl;

-- name: has_unreached
SELECT EXISTS(SELECT 1 FROM robots WHERE host IN (SELECT value FROM json_each(:hosts)) AND access = 'hold');

-- name: end_unreached_rests
-- Only where nothing answered: a server that asks for patience gets it. (An owner that has the host in memory writes the clock that it keeps.)
UPDATE hosts SET next_at = :now + delay_ms, rest_reason = '' WHERE host IN (SELECT value FROM json_each(:hosts)) AND rest_reason = 'robots_unreachable' AND next_at > :now + delay_ms
  AND EXISTS(SELECT 1 FROM robots r WHERE r.host = hosts.host AND r.access = 'hold' AND r.status IS NULL);

-- name: forget_unreached
DELETE FROM robots WHERE host IN (SELECT value FROM json_each(:hosts)) AND access = 'hold';

-- name: seeded
UPDATE crawls SET seeding = 0 WHERE id = :crawl;

-- name: crawl
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since FROM crawls WHERE id = :crawl AND NOT deleted;

-- name: crawl_by_uuid
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since FROM crawls WHERE uuid = :uuid AND NOT deleted;

-- name: crawls
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since FROM crawls 
WHERE id < :before AND NOT deleted ORDER BY id DESC LIMIT :limit;

-- name: set_naming
UPDATE crawls SET name = :name, labels = :labels WHERE id = :crawl AND NOT deleted;

-- name: crawl_heads
-- What lists of crawls are filtered and sorted by; of the seeds only the beginning, since there may be millions.
SELECT id, state, name, labels, substr(seeds, 1, :chars), active_ms, running_since FROM crawls WHERE id < :before AND NOT deleted ORDER BY id DESC LIMIT :limit;

-- name: tallies_of_crawls
SELECT crawl, name, sum(n) FROM tallies WHERE crawl IN (SELECT value FROM json_each(:crawls)) AND name IN (SELECT value FROM json_each(:names)) GROUP BY crawl, name;

-- name: crawl_uuids
SELECT id, uuid FROM crawls WHERE NOT deleted;

-- name: count_crawls
-- By state: how many crawls there are, began since a time and ended since it.
SELECT state, count(*), coalesce(sum(created_at >= :since), 0), coalesce(sum(ended_at >= :since), 0) FROM crawls WHERE NOT deleted GROUP BY state;

-- name: open_crawls
SELECT id, uuid, seeds, settings, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since FROM crawls
WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: unfinished
SELECT id FROM crawls WHERE fingerprint = :fingerprint AND state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id DESC LIMIT 1;

-- name: steer
-- What ends cannot be called back: some of its rows have ended already.
UPDATE crawls SET state = :state, reason = :reason, control = (SELECT version + 1 FROM control),
  active_ms = active_ms + iif(:state = 'running' AND :alive, 0, max(0, coalesce(:until - running_since, 0))),
  running_since = iif(:state = 'running', iif(:alive, coalesce(running_since, :now), :now), NULL)
WHERE id = :crawl AND (state IN ('running', 'paused') OR state = 'ending' AND :state = 'ending');

-- name: last_seen
SELECT coalesce(max(seen_at), 0) FROM workers;

-- name: living_sessions
-- The caller asks the lock of each whether it really lives.
SELECT session FROM workers WHERE fenced_at IS NULL;

-- name: unpark
UPDATE queues SET held = 0 WHERE crawl = :crawl AND held = -1 AND due IS NOT NULL;

-- name: wait_for_flushes
-- Writers take turns: no flush is under way.
SELECT 1;

-- name: set_settings
-- Grants are counted only under a max_pages: the first one counts the pages that are there already.
UPDATE crawls SET settings = :settings, control = (SELECT version + 1 FROM control),
  pages_granted = iif(json_extract(settings, '$.limits.max_pages') IS NOT NULL, pages_granted,
    (SELECT coalesce(sum(iif(name = :visited, n, -n)), 0) FROM tallies WHERE crawl = :crawl AND name IN (:visited, :unaccepted)) + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = :crawl))
WHERE id = :crawl;

-- name: reopen_crawl
-- Lets a crawl that one of these limits has ended run again: `seeding`, so that it is not over before its URLs are open. Its pages are counted as by set_settings.
UPDATE crawls SET state = 'running', reason = '', limited_by = '', seeding = 1, settings = :settings, ended_at = NULL, running_since = :now, control = (SELECT version + 1 FROM control),
  pages_granted = iif(json_extract(settings, '$.limits.max_pages') IS NOT NULL, pages_granted, (SELECT coalesce(sum(iif(name = :visited, n, -n)), 0) FROM tallies WHERE crawl = :crawl AND name IN (:visited, :unaccepted)) + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = :crawl))
WHERE id = :crawl AND state = 'completed' AND reason IN (SELECT value FROM json_each(:reasons)) AND NOT deleted;

-- name: reopening
-- Whether URLs of the crawl may be opened again: not once the next limit ends it.
SELECT 1 FROM crawls WHERE id = :crawl AND state IN ('running', 'paused') AND seeding AND NOT deleted;

-- name: ended_for
-- URLs without a visit that ended so, in the order of their ids, and why.
SELECT id, reason FROM urls INDEXED BY urls_ended WHERE crawl = :crawl AND state > 1 AND state = :state AND id > :after AND reason IN (SELECT value FROM json_each(:reasons)) ORDER BY id LIMIT :limit;

-- name: forget_ends
-- The page records of those whose worker ended them: at max_pages, in a crawl with requisites.
DELETE FROM pages WHERE id IN (SELECT page FROM urls WHERE id IN (SELECT value FROM json_each(:urls)) AND crawl = :crawl AND state = :state AND reason IN (SELECT value FROM json_each(:reasons)) AND page IS NOT NULL);

-- name: open_again
-- As if they were found now.
UPDATE urls SET state = 0, reason = NULL, page = NULL, not_before = 0, tries = 0, crashes = 0, limited = 0, changed_at = :now
WHERE id IN (SELECT value FROM json_each(:urls)) AND crawl = :crawl AND state = :state AND reason IN (SELECT value FROM json_each(:reasons)) RETURNING id, queue;

-- name: kinds_among
-- Of those that are no pages.
SELECT id, kind FROM urls WHERE id IN (SELECT value FROM json_each(:ids)) AND kind <> 0;

-- name: note_opened
INSERT INTO changes(crawl, number, ended, urls) VALUES (:crawl, coalesce((SELECT max(number) FROM changes WHERE crawl = :crawl), 0) + 1, 0, :urls);

-- name: tell_owners
-- Only the owner changes a queue.
INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues WHERE id IN (SELECT value FROM json_each(:queues));

-- name: lagging
-- Sessions that have not yet seen a control version; the caller asks the lock of each whether it really lives.
SELECT session FROM workers WHERE fenced_at IS NULL AND control_seen < :version;

-- name: move_control
UPDATE control SET version = version + 1 RETURNING version;

-- name: tallies
SELECT name, iif(name = 'depth_max', max(n), sum(n)) FROM tallies WHERE crawl = :crawl GROUP BY name;

-- name: in_flight
-- By kind.
SELECT u.kind, count(*) FROM workers w CROSS JOIN json_each(w.in_flight) j CROSS JOIN urls u ON u.id = json_extract(j.value, '$[0]') WHERE w.fenced_at IS NULL AND u.crawl = :crawl AND u.state = 0 GROUP BY u.kind;

-- name: has_others
-- URLs that are counted apart from pages. (The underscore stands for a colon, which would look like a parameter.)
SELECT EXISTS(SELECT 1 FROM tallies WHERE crawl = :crawl AND (name LIKE 'requisite_urls' OR name LIKE 'sitemap_urls'));

-- name: refused_rules
SELECT reason, rule, n FROM refused_rules WHERE crawl = :crawl ORDER BY n DESC, reason, rule LIMIT :limit;

-- name: refused_links
SELECT crawl, reason, rule, host, url, found_on FROM refused_links WHERE crawl = :crawl ORDER BY reason, rule, host, url LIMIT :limit;

-- name: refusals
-- A range of hosts: one, or all. (An invalid URL has an empty host.)
SELECT host, reason, n FROM refusals WHERE crawl = :crawl AND host BETWEEN coalesce(:host, '') AND coalesce(:host, char(0x10ffff)) ORDER BY n DESC;

-- name: ancestors
-- In order: a chain is walked link by link.
WITH RECURSIVE chain(id, steps) AS (SELECT parent, 1 FROM urls WHERE id = :url
  UNION ALL SELECT u.parent, steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE steps < :limit)
SELECT id FROM chain WHERE id IS NOT NULL ORDER BY steps LIMIT :limit;

-- name: oldest_due
SELECT min((SELECT min(due) FROM queues INDEXED BY queues_due WHERE part = p.part AND held = 0 AND due IS NOT NULL)) FROM partitions p;

-- name: redirects
-- By whether the status is 301, and by reason.
SELECT p.status IS 301, coalesce(u.reason, ''), count(*) FROM urls u INDEXED BY urls_ended LEFT JOIN pages p ON p.id = u.page
WHERE u.crawl = :crawl AND u.state > 1 AND u.state = :state GROUP BY 1, 2;

-- name: page_beyond
-- The first page behind so many others.
SELECT id FROM urls INDEXED BY urls_crawl WHERE crawl = :crawl AND kind = 0 ORDER BY id LIMIT 1 OFFSET :pages;

-- name: sizes
SELECT name, sum(n) FROM tallies WHERE name IN (SELECT value FROM json_each(:names)) GROUP BY name;

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

-- name: changes
SELECT number, ended, first, last, urls FROM changes WHERE crawl = :crawl AND number >= :number AND number <= :last ORDER BY number LIMIT :limit;

-- name: still_open
SELECT u.id FROM json_each(:ids) wanted CROSS JOIN urls u ON u.id = wanted.value WHERE u.state = 0;

-- name: linking
SELECT u.id, p.links FROM json_each(:ids) wanted CROSS JOIN urls u ON u.id = wanted.value JOIN pages p ON p.id = u.page;

-- name: linked_ids
-- The URL in each range of keys, with the range's place in the list.
SELECT link.key, u.id FROM json_each(:links) link CROSS JOIN urls u INDEXED BY urls_key
  ON u.queue = link.value ->> 0 AND u.key BETWEEN unhex(link.value ->> 1) AND unhex(link.value ->> 2);

-- name: linked
SELECT u.url FROM json_each(:links) link CROSS JOIN urls u INDEXED BY urls_key
  ON u.queue = link.value ->> 0 AND u.key BETWEEN unhex(link.value ->> 1) AND unhex(link.value ->> 2) ORDER BY link.key;

-- name: counterparts
-- Pages of a crawl by id, each with what another crawl has under the same host and key.
SELECT u.id, u.url, u.state, p.content_hash, o.id, o.state, op.content_hash
FROM urls u INDEXED BY urls_crawl JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.id = u.page
  LEFT JOIN queues oq ON oq.crawl = :other AND oq.host = q.host LEFT JOIN urls o ON o.queue = oq.id AND o.key = u.key LEFT JOIN pages op ON op.id = o.page
WHERE u.crawl = :crawl AND u.id > :after AND u.kind = 0 ORDER BY u.id LIMIT :limit;

-- name: sitemap_note
SELECT e.sitemap, s.url, e.lastmod, e.priority, e.notes FROM sitemap_entries e LEFT JOIN urls s ON s.id = e.sitemap WHERE e.crawl = :crawl AND e.url = :url;

-- name: listed_pages
-- The last column: a page has brought it, no sitemap and no seed.
SELECT u.id, u.url, q.host, u.key, u.state, e.sitemap, EXISTS(SELECT 1 FROM urls f WHERE f.id = u.parent AND f.kind = 0)
FROM urls u INDEXED BY urls_crawl JOIN queues q ON q.id = u.queue LEFT JOIN sitemap_entries e ON e.crawl = u.crawl AND e.url = u.id
WHERE u.crawl = :crawl AND u.id > :after AND u.kind = 0 ORDER BY u.id LIMIT :limit;

-- name: links_of_pages
SELECT u.id, u.key, p.links FROM urls u INDEXED BY urls_crawl LEFT JOIN pages p ON p.id = u.page WHERE u.crawl = :crawl AND u.id > :after AND u.kind = 0 ORDER BY u.id LIMIT :limit;

-- name: history
SELECT at, answered, ended, queued, failed FROM history WHERE crawl = :crawl ORDER BY at;

-- name: errors
-- The latest first; of one crawl, or of all.
SELECT e.id, e.at, e.worker, e.crawl, e.url, coalesce(u.url, ''), e.reason, e.detail, e.tries FROM errors e LEFT JOIN urls u ON u.id = e.url AND u.crawl = e.crawl
WHERE :crawl IS NULL OR e.crawl = :crawl ORDER BY e.id DESC LIMIT :limit;

-- name: hosts_by_errors
-- Of the errors that are kept; the reason is that of the latest.
SELECT q.host, count(*), e.at, e.reason, max(e.id) FROM errors e JOIN urls u ON u.id = e.url JOIN queues q ON q.id = u.queue
GROUP BY q.host ORDER BY 2 DESC, q.host LIMIT :limit;

-- name: throughput
SELECT coalesce(sum(pages), 0), coalesce(sum(errors), 0) FROM throughput WHERE slot > :after;

-- name: url_columns
SELECT u.id, u.url, u.state, u.reason, p.status, p.content_type, u.depth, u.parent, u.raw, p.title, p.content_hash, p.body_bytes, p.fetched_at, p.total_ms, u.tries,
  f.name, p."offset", p.length, p.redirect_to, q.host, u.kind, u.not_before, p.error, u.spelling,
  coalesce(nullif(u.changed_at, 0), p.fetched_at)
FROM urls u JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.id = u.page LEFT JOIN archive_files f ON f.id = p.file
WHERE;

-- name: where_key
-- How url_columns goes on, in this and the next two.
q.crawl = :crawl AND q.host = :host AND u.key = :key;

-- name: where_ids
u.id IN (SELECT value FROM json_each(:ids));

-- name: where_listed
u.id IN (SELECT id FROM (/* ids */));

-- name: page_facts
SELECT facts, links, refused, {page_details} FROM pages WHERE id = (SELECT page FROM urls WHERE id = :url);

-- name: claims
SELECT w.id, json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]') FROM workers w, json_each(w.in_flight) j WHERE w.fenced_at IS NULL;

-- name: robots
SELECT {robots} FROM robots WHERE host = :host AND origin = :origin;

-- name: robots_of_host
SELECT {robots} FROM robots WHERE host = :host ORDER BY origin LIMIT :limit;

-- name: host
SELECT {hosts} FROM hosts WHERE host = :host;

-- name: addresses
SELECT host, addresses FROM hosts WHERE host IN (SELECT value FROM json_each(:hosts)) AND addresses <> '';

-- name: queue
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id AND state = 0 LIMIT :open_max)), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead
FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = :crawl AND q.host = :host;

-- name: queues
-- Those that a worker holds first: the busy ones are among them. Each part ends at its limit, so that 100,000 active hosts are not sorted once a second.
-- Rows are counted only of the queues that are shown.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id AND state = 0 LIMIT :open_max)), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead
FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.id IN (
  SELECT id FROM (
    SELECT * FROM (SELECT held.id, held.held FROM partitions p CROSS JOIN queues held INDEXED BY queues_due
      ON held.part = p.part AND held.held > 0 AND held.due IS NOT NULL WHERE held.crawl = :crawl LIMIT :limit)
    UNION SELECT * FROM (SELECT id, held FROM queues INDEXED BY queues_active WHERE crawl = :crawl AND due IS NOT NULL LIMIT :limit))
  ORDER BY held DESC LIMIT :limit);

-- name: queue_names
-- The hosts of a crawl by name behind another one, up to a name where one is given; without `text` all pass.
SELECT host FROM queues WHERE crawl = :crawl AND host > :after AND host <= coalesce(:last, char(0x10ffff)) AND instr(host, :text) ORDER BY host LIMIT :limit;

-- name: last_queue
-- The `rows_max`-th host of a crawl behind another one.
SELECT host FROM queues WHERE crawl = :crawl AND host > :after ORDER BY host LIMIT 1 OFFSET :rows_max - 1;

-- name: queues_in_order
-- The hosts of a crawl behind another one, in any order: host_lists.py puts another place and direction in.
SELECT host FROM (SELECT q.host AS host, q.host AS place FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = :crawl AND instr(q.host, :text)) AS found
WHERE :after = '' OR (place, host) > (SELECT q.host AS place, q.host FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = :crawl AND q.host = :after)
ORDER BY place ASC, host ASC LIMIT :limit;

-- name: count_queues
-- The hosts of a crawl, counted up to a bound, and those with a text in their name.
SELECT count(*), coalesce(sum(instr(host, :text) > 0), 0) FROM (SELECT host FROM queues WHERE crawl = :crawl LIMIT :rows_max);

-- name: hosts_of_crawl
-- The robots.txt of the origin that was asked last stands for its host.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM urls WHERE queue = q.id AND state = 0 LIMIT :open_max)), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead,
  {hosts: h.*}, r.version, r.access
FROM queues q LEFT JOIN hosts h ON h.host = q.host
  LEFT JOIN robots r ON r.host = q.host AND r.origin = (SELECT origin FROM robots WHERE host = q.host ORDER BY fetched_at DESC, origin LIMIT 1)
WHERE q.crawl = :crawl AND q.host IN (SELECT value FROM json_each(:hosts));

-- name: host_names
-- By name behind another one, up to a name where one is given; without `text` all pass.
SELECT host FROM hosts WHERE host > :after AND host <= coalesce(:last, char(0x10ffff)) AND instr(host, :text) ORDER BY host LIMIT :limit;

-- name: last_host
-- The `rows_max`-th host behind another one.
SELECT host FROM hosts WHERE host > :after ORDER BY host LIMIT 1 OFFSET :rows_max - 1;

-- name: hosts_in_order
-- As queues_in_order, of all crawls.
SELECT host FROM (SELECT h.host AS host, h.host AS place FROM hosts h WHERE instr(h.host, :text)) AS found
WHERE :after = '' OR (place, host) > (SELECT h.host AS place, h.host FROM hosts h WHERE h.host = :after)
ORDER BY place ASC, host ASC LIMIT :limit;

-- name: count_hosts
-- Counted up to a bound, and those with a text in their name.
SELECT count(*), coalesce(sum(instr(host, :text) > 0), 0) FROM (SELECT host FROM hosts LIMIT :rows_max);

-- name: all_hosts
SELECT {hosts: h.*}, r.version, r.access
FROM hosts h LEFT JOIN robots r ON r.host = h.host AND r.origin = (SELECT origin FROM robots WHERE host = h.host ORDER BY fetched_at DESC, origin LIMIT 1)
WHERE h.host IN (SELECT value FROM json_each(:hosts));

-- name: workers
SELECT w.id, w.name, w.pid, w.version, w.started_at, w.seen_at, (SELECT count(*) FROM partitions WHERE owner = w.id), w.flush_seq, w.in_flight,
  w.pages, w.pages_per_s, w.cpu, w.rss_bytes, w.received_per_s, w.sent_per_s, w.fenced_at IS NULL, w.session
FROM workers w ORDER BY w.id DESC LIMIT 1000;

-- name: urls_by_id
SELECT id, url FROM urls WHERE id IN (SELECT value FROM json_each(:ids));

-- name: mark_suspect
UPDATE urls SET crashes = crashes + 1 WHERE id = :url AND state = 0;

-- name: mark_deleted
UPDATE crawls SET deleted = 1, state = 'cancelled', control = (SELECT version + 1 FROM control) WHERE id = :crawl;

-- name: files_of_crawl
-- Files that no other crawl's pages name, without those of living sessions, which may be writing another crawl's pages into them just now.
SELECT f.name FROM urls u JOIN pages p ON p.id = u.page JOIN archive_files f ON f.id = p.file
WHERE u.crawl = :crawl AND f.worker NOT IN (SELECT id FROM workers WHERE fenced_at IS NULL)
EXCEPT SELECT f.name FROM urls u JOIN pages p ON p.id = u.page JOIN archive_files f ON f.id = p.file WHERE u.crawl <> :crawl ORDER BY 1;

-- name: forget_file
DELETE FROM archive_files WHERE name = :name;

-- name: archived
SELECT p.id, p.url, p."offset", p.length, p.content_hash FROM pages p INDEXED BY pages_place
WHERE p.file = (SELECT id FROM archive_files WHERE name = :name) AND (p."offset", p.id) > (:offset, :page) ORDER BY p."offset", p.id LIMIT :limit;

-- name: archive_files
SELECT name, worker, open, cut FROM archive_files ORDER BY id;

-- name: archive_sizes
SELECT name, bytes FROM archive_files ORDER BY id;

-- name: pages_in_file
SELECT u.id, u.crawl, u.url, q.host, u.kind, u.state, p.title, p.content_type, p.fetched_at, p."offset", p.length, p.facts
FROM pages p INDEXED BY pages_place JOIN urls u ON u.id = p.url AND u.page = p.id JOIN queues q ON q.id = u.queue
WHERE p.file = (SELECT id FROM archive_files WHERE name = :name) AND p."offset" >= :start AND p."offset" < :end ORDER BY p."offset" LIMIT :limit;

-- name: kept_crawls
SELECT id FROM crawls WHERE NOT deleted ORDER BY id;

-- name: counted
-- By kind and state.
SELECT kind, state, count(*) FROM urls WHERE crawl = :crawl GROUP BY kind, state;
