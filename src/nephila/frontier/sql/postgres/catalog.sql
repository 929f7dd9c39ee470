-- What the command line and the API read and steer. Keyset pages, short transactions, one snapshot a statement.
-- A URL is open while it has a row in frontier; otherwise its row in pages says how it ended.

-- name: time
-- The clock of the server, or of a test, and what StoreClock makes the time of the store of.
SELECT coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), offset_ms, seen_at FROM store_clock;

-- name: note_time
-- Nothing where another was first.
UPDATE store_clock SET offset_ms = %(offset_ms)s, seen_at = %(seen_at)s WHERE offset_ms = %(known_offset_ms)s AND seen_at = %(known_at)s;

-- name: create_crawl
INSERT INTO crawls(uuid, seeds, seed_sent, allowed_hosts, settings, fingerprint, created_by, name, labels, state, created_at, running_since, control)
VALUES (%(uuid)s, %(seeds)s, %(seed_sent)s, %(allowed_hosts)s, %(settings)s::jsonb, %(fingerprint)s, %(created_by)s, %(name)s, %(labels)s, 'running', %(now)s, %(now)s, (SELECT version + 1 FROM control)) RETURNING id;

-- name: unfinished_of
SELECT count(*) FROM crawls WHERE created_by = %(created_by)s AND state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: take_request_key
-- The second of two requests that come at once waits here for the first, and then finds its crawl.
INSERT INTO request_keys(key, fingerprint, created_at) VALUES (%(key)s, %(fingerprint)s, %(now)s) ON CONFLICT DO NOTHING;

-- name: request_key
SELECT crawl, fingerprint FROM request_keys WHERE key = %(key)s;

-- name: fill_request_key
UPDATE request_keys SET crawl = %(crawl)s WHERE key = %(key)s;

-- name: drop_request_keys
DELETE FROM request_keys WHERE crawl = %(crawl)s;

-- name: has_unreached
SELECT EXISTS(SELECT 1 FROM robots WHERE host = ANY(%(hosts)s) AND access = 'hold');

-- name: end_unreached_rests
-- Only where nothing answered: a server that asks for patience gets it. (An owner that has the host in memory writes the clock that it keeps.)
UPDATE hosts SET next_at = %(now)s + delay_ms, rest_reason = '' WHERE host = ANY(%(hosts)s) AND rest_reason = 'robots_unreachable' AND next_at > %(now)s + delay_ms
  AND EXISTS(SELECT 1 FROM robots r WHERE r.host = hosts.host AND r.access = 'hold' AND r.status IS NULL);

-- name: forget_unreached
DELETE FROM robots WHERE host = ANY(%(hosts)s) AND access = 'hold';

-- name: seeded
UPDATE crawls SET seeding = false WHERE id = %(crawl)s;

-- name: crawl
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since
FROM crawls WHERE id = %(crawl)s AND NOT deleted;

-- name: crawl_by_uuid
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since
FROM crawls WHERE uuid = %(uuid)s AND NOT deleted;

-- name: crawls
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since
FROM crawls WHERE id < %(before)s AND NOT deleted ORDER BY id DESC LIMIT %(limit)s;

-- name: set_naming
UPDATE crawls SET name = %(name)s, labels = %(labels)s WHERE id = %(crawl)s AND NOT deleted;

-- name: crawl_heads
-- What lists of crawls are filtered and sorted by; of the seeds only the beginning, since there may be millions.
SELECT id, state, name, labels, left(seeds, %(chars)s), active_ms, running_since FROM crawls WHERE id < %(before)s AND NOT deleted ORDER BY id DESC LIMIT %(limit)s;

-- name: tallies_of_crawls
SELECT crawl, name, sum(n)::bigint FROM tallies WHERE crawl = ANY(%(crawls)s) AND name = ANY(%(names)s) GROUP BY crawl, name;

-- name: crawl_uuids
SELECT id, uuid FROM crawls WHERE NOT deleted;

-- name: count_crawls
-- By state: how many crawls there are, began since a time and ended since it.
SELECT state, count(*), count(*) FILTER (WHERE created_at >= %(since)s), count(*) FILTER (WHERE ended_at >= %(since)s) FROM crawls WHERE NOT deleted GROUP BY state;

-- name: open_crawls
SELECT id, uuid, seeds, settings::text, state, reason, limited_by, seeding, joined_hosts, allowed_hosts, seed_sent, name, labels, created_at, ended_at, active_ms, running_since
FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id;

-- name: unfinished
SELECT id FROM crawls WHERE fingerprint = %(fingerprint)s AND state IN ('running', 'paused', 'ending') AND NOT deleted ORDER BY id DESC LIMIT 1;

-- name: steer
-- Crawls are locked before control, as everywhere: everybody who steers wants that row, so it is the last.
-- What ends cannot be called back: some of its rows have ended already.
UPDATE crawls SET state = %(state)s::text, reason = %(reason)s, control = (SELECT version + 1 FROM control),
  active_ms = active_ms + CASE WHEN %(state)s::text = 'running' AND %(alive)s THEN 0 ELSE greatest(0, coalesce(%(until)s::bigint - running_since, 0)) END,
  running_since = CASE WHEN %(state)s::text <> 'running' THEN NULL WHEN %(alive)s THEN coalesce(running_since, %(now)s::bigint) ELSE %(now)s::bigint END
WHERE id = %(crawl)s AND (state IN ('running', 'paused') OR state = 'ending' AND %(state)s::text = 'ending');

-- name: last_seen
SELECT coalesce(max(seen_at), 0) FROM workers;

-- name: living_sessions
SELECT session FROM workers WHERE fenced_at IS NULL AND lease_until >= %(now)s;

-- name: unpark
-- Locked in the order of id, as by all who lock several queues.
UPDATE queues SET held = 0 WHERE id IN (SELECT id FROM queues WHERE crawl = %(crawl)s AND held = -1 AND due IS NOT NULL ORDER BY id FOR UPDATE);

-- name: wait_for_flushes
-- Every flush holds its session's row: those under way end first, others begin only after this transaction.
SELECT id FROM workers WHERE fenced_at IS NULL ORDER BY id FOR UPDATE;

-- name: set_settings
-- Grants are counted only under a max_pages: the first one counts the pages that are there already.
UPDATE crawls SET settings = %(settings)s::jsonb, control = (SELECT version + 1 FROM control),
  pages_granted = CASE WHEN settings->'limits'->>'max_pages' IS NOT NULL THEN pages_granted
    ELSE (SELECT coalesce(sum(CASE name WHEN %(visited)s THEN n ELSE -n END), 0) FROM tallies WHERE crawl = %(crawl)s AND name IN (%(visited)s, %(unaccepted)s)) + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = %(crawl)s) END
WHERE id = %(crawl)s;

-- name: reopen_crawl
-- Lets a crawl that one of these limits has ended run again: `seeding`, so that it is not over before its URLs are open. Its pages are counted as by set_settings.
UPDATE crawls SET state = 'running', reason = '', limited_by = '', seeding = true, settings = %(settings)s::jsonb, ended_at = NULL, running_since = %(now)s, control = (SELECT version + 1 FROM control),
  pages_granted = CASE WHEN settings->'limits'->>'max_pages' IS NOT NULL THEN pages_granted ELSE (SELECT coalesce(sum(CASE name WHEN %(visited)s THEN n ELSE -n END), 0) FROM tallies WHERE crawl = %(crawl)s AND name IN (%(visited)s, %(unaccepted)s)) + (SELECT coalesce(sum(pages), 0) FROM grants WHERE crawl = %(crawl)s) END
WHERE id = %(crawl)s AND state = 'completed' AND reason = ANY(%(reasons)s) AND NOT deleted;

-- name: reopening
-- Whether URLs of the crawl may be opened again: not once the next limit ends it. Two who open them take turns here, and the end of the seeding waits.
SELECT 1 FROM crawls WHERE id = %(crawl)s AND state IN ('running', 'paused') AND seeding AND NOT deleted FOR NO KEY UPDATE;

-- name: ended_for
-- URLs without a visit that ended so, in the order of their ids, and why.
SELECT url, reason FROM pages WHERE crawl = %(crawl)s AND state = %(state)s AND url > %(after)s AND reason = ANY(%(reasons)s) ORDER BY url LIMIT %(limit)s;

-- name: forget_ends
-- Locks them: the page record is the end of a URL, and open_again deletes it.
SELECT url FROM pages WHERE url = ANY(%(urls)s) AND crawl = %(crawl)s AND state = %(state)s AND reason = ANY(%(reasons)s) ORDER BY url FOR UPDATE;

-- name: open_again
-- As if they were found now.
WITH gone AS (DELETE FROM pages WHERE url = ANY(%(urls)s) AND crawl = %(crawl)s AND state = %(state)s AND reason = ANY(%(reasons)s) RETURNING url)
INSERT INTO frontier(url, queue, prio, changed_at) SELECT u.id, u.queue, u.prio, %(now)s FROM gone JOIN urls u ON u.id = gone.url RETURNING url, queue;

-- name: kinds_among
-- Of those that are no pages.
SELECT id, kind FROM urls WHERE id = ANY(%(ids)s) AND kind <> 0;

-- name: note_opened
INSERT INTO changes(crawl, ended, urls) VALUES (%(crawl)s, false, %(urls)s);

-- name: tell_owners
-- Only the owner changes a queue.
INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues WHERE id = ANY(%(queues)s);

-- name: lagging
-- A session whose lease is over does nothing any more, whatever it has seen.
SELECT session FROM workers WHERE fenced_at IS NULL AND lease_until >= %(now)s AND control_seen < %(version)s;

-- name: move_control
UPDATE control SET version = version + 1 RETURNING version;

-- name: tallies
SELECT name, CASE name WHEN 'depth_max' THEN max(n) ELSE sum(n)::bigint END FROM tallies WHERE crawl = %(crawl)s GROUP BY name;

-- name: in_flight
-- By kind.
SELECT u.kind, count(*) FROM workers w CROSS JOIN LATERAL json_array_elements(w.in_flight::json) j
JOIN frontier f ON f.url = (j->>0)::bigint JOIN queues q ON q.id = f.queue JOIN urls u ON u.id = f.url WHERE w.fenced_at IS NULL AND q.crawl = %(crawl)s GROUP BY u.kind;

-- name: has_others
-- URLs that are counted apart from pages. (The underscore stands for a colon, which would look like a parameter.)
SELECT EXISTS(SELECT 1 FROM tallies WHERE crawl = %(crawl)s AND (name LIKE 'requisite_urls' OR name LIKE 'sitemap_urls'));

-- name: refused_rules
SELECT reason, rule, sum(n)::bigint FROM refused_rules WHERE crawl = %(crawl)s GROUP BY reason, rule ORDER BY 3 DESC, reason, rule LIMIT %(limit)s;

-- name: refused_links
SELECT crawl, reason, rule, host, url, found_on FROM refused_links WHERE crawl = %(crawl)s ORDER BY reason, rule, host, url LIMIT %(limit)s;

-- name: refusals
-- The rows of one host are found by the key of each worker, so that nothing is scanned; sessions that ended long ago are no longer among the workers.
WITH RECURSIVE counting(worker) AS (
  SELECT min(worker) FROM refusals WHERE crawl = %(crawl)s
  UNION ALL SELECT (SELECT min(r.worker) FROM refusals r WHERE r.crawl = %(crawl)s AND r.worker > c.worker) FROM counting c WHERE c.worker IS NOT NULL)
SELECT host, reason, sum(n)::bigint FROM refusals
WHERE crawl = %(crawl)s AND (%(host)s::text IS NULL OR worker = ANY(ARRAY(SELECT worker FROM counting)) AND host = %(host)s)
GROUP BY host, reason ORDER BY 3 DESC, host, reason;

-- name: ancestors
-- In order: a chain is walked link by link.
WITH RECURSIVE chain(id, steps) AS (SELECT parent, 1 FROM urls WHERE id = %(url)s
  UNION ALL SELECT u.parent, steps + 1 FROM chain JOIN urls u ON u.id = chain.id WHERE steps < %(limit)s)
SELECT id FROM chain WHERE id IS NOT NULL ORDER BY steps LIMIT %(limit)s;

-- name: oldest_due
SELECT min(q.due) FROM partitions p CROSS JOIN LATERAL
  (SELECT due FROM queues WHERE part = p.part AND held = 0 AND due IS NOT NULL ORDER BY due LIMIT 1) q;

-- name: redirects
-- By whether the status is 301, and by reason.
SELECT status IS NOT DISTINCT FROM 301, coalesce(reason, ''), count(*) FROM pages WHERE crawl = %(crawl)s AND state = %(state)s GROUP BY 1, 2;

-- name: page_beyond
-- The first page behind so many others.
SELECT id FROM urls WHERE crawl = %(crawl)s AND kind = 0 ORDER BY id LIMIT 1 OFFSET %(pages)s;

-- name: sizes
SELECT name, sum(n)::bigint FROM tallies WHERE name = ANY(%(names)s) GROUP BY name;

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

-- name: drawn_changes
-- The last number that was drawn. Asked before `uncommitted_changes`: whoever draws later, draws a higher one.
SELECT last_value FROM change_numbers;

-- name: uncommitted_changes
-- The number above which transactions under way may have drawn theirs: the lowest of the locks of `changing` (worker.sql).
SELECT min(((classid::bigint & 65535) << 32) + objid::bigint) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = 20037
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: changes
SELECT number, ended, urls FROM changes WHERE crawl = %(crawl)s AND number >= %(number)s AND number <= %(last)s ORDER BY number LIMIT %(limit)s;

-- name: still_open
SELECT url FROM frontier WHERE url = ANY(%(ids)s);

-- name: linking
SELECT url, links FROM pages WHERE url = ANY(%(ids)s);

-- name: linked_ids
-- The URL in each range of keys, with the range's place in the list.
SELECT link.position - 1, u.id FROM unnest(%(queues)s, %(least)s, %(greatest)s) WITH ORDINALITY AS link(queue, least, greatest, position)
JOIN urls u ON u.queue = link.queue AND u.key BETWEEN link.least AND link.greatest;

-- name: linked
SELECT u.url FROM unnest(%(queues)s, %(least)s, %(greatest)s) WITH ORDINALITY AS link(queue, least, greatest, position)
JOIN urls u ON u.queue = link.queue AND u.key BETWEEN link.least AND link.greatest ORDER BY link.position;

-- name: counterparts
-- Pages of a crawl by id, each with what another crawl has under the same host and key.
SELECT u.id, u.url, coalesce(p.state, 0), p.content_hash, o.id, coalesce(op.state, 0), op.content_hash
FROM (SELECT id, url, queue, key FROM urls WHERE crawl = %(crawl)s AND id > %(after)s AND kind = 0 ORDER BY id LIMIT %(limit)s) u
  JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.url = u.id
  LEFT JOIN queues oq ON oq.crawl = %(other)s AND oq.host = q.host LEFT JOIN urls o ON o.queue = oq.id AND o.key = u.key LEFT JOIN pages op ON op.url = o.id
ORDER BY u.id;

-- name: sitemap_note
SELECT e.sitemap, s.url, e.lastmod, e.priority, e.notes FROM sitemap_entries e LEFT JOIN urls s ON s.id = e.sitemap WHERE e.crawl = %(crawl)s AND e.url = %(url)s;

-- name: listed_pages
-- The last column: a page has brought it, no sitemap and no seed.
SELECT u.id, u.url, q.host, u.key, coalesce(p.state, 0), e.sitemap, EXISTS(SELECT 1 FROM urls f WHERE f.id = u.parent AND f.kind = 0)
FROM (SELECT id, url, queue, key, parent FROM urls WHERE crawl = %(crawl)s AND id > %(after)s AND kind = 0 ORDER BY id LIMIT %(limit)s) u
  JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.url = u.id LEFT JOIN sitemap_entries e ON e.crawl = %(crawl)s AND e.url = u.id
ORDER BY u.id;

-- name: links_of_pages
SELECT u.id, u.key, p.links FROM (SELECT id, key FROM urls WHERE crawl = %(crawl)s AND id > %(after)s AND kind = 0 ORDER BY id LIMIT %(limit)s) u
  LEFT JOIN pages p ON p.url = u.id ORDER BY u.id;

-- name: history
SELECT at, answered, ended, queued, failed FROM history WHERE crawl = %(crawl)s ORDER BY at;

-- name: errors
-- The latest first; of one crawl, or of all.
SELECT e.id, e.at, e.worker, e.crawl, e.url, coalesce(u.url, ''), e.reason, e.detail, e.tries FROM
  (SELECT * FROM errors WHERE %(crawl)s::bigint IS NULL OR crawl = %(crawl)s::bigint ORDER BY id DESC LIMIT %(limit)s) e LEFT JOIN urls u ON u.id = e.url
ORDER BY e.id DESC;

-- name: hosts_by_errors
-- Of the errors that are kept; the reason is that of the latest.
SELECT q.host, count(*), max(e.at), (array_agg(e.reason ORDER BY e.id DESC))[1], max(e.id) FROM errors e JOIN urls u ON u.id = e.url JOIN queues q ON q.id = u.queue
GROUP BY q.host ORDER BY 2 DESC, q.host COLLATE "C" LIMIT %(limit)s;

-- name: throughput
SELECT coalesce(sum(pages), 0)::bigint, coalesce(sum(errors), 0)::bigint FROM throughput WHERE slot > %(after)s;

-- name: url_columns
SELECT u.id, u.url, coalesce(p.state, 0), coalesce(p.reason, f.reason), p.status, p.content_type, u.depth, u.parent, u.raw, p.title, p.content_hash, p.body_bytes,
  p.fetched_at, p.total_ms, coalesce(p.tries, f.tries, 0), a.name, p."offset", p.length, p.redirect_to, q.host, u.kind, coalesce(f.not_before, 0), p.error, u.spelling,
  coalesce(nullif(p.changed_at, 0), p.fetched_at, f.changed_at, u.found_at)
FROM urls u JOIN queues q ON q.id = u.queue LEFT JOIN pages p ON p.url = u.id LEFT JOIN frontier f ON f.url = u.id LEFT JOIN archive_files a ON a.id = p.file
WHERE;

-- name: where_key
-- How url_columns goes on, in this and the next two.
q.crawl = %(crawl)s AND q.host = %(host)s AND u.key = %(key)s;

-- name: where_ids
u.id = ANY(%(ids)s);

-- name: where_listed
u.id = ANY(ARRAY(/* ids */));

-- name: page_facts
-- None for a URL that ended without a request: its page only says how it ended.
SELECT facts, links, refused, {page_details} FROM pages WHERE url = %(url)s AND (status IS NOT NULL OR error IS NOT NULL);

-- name: claims
SELECT w.id, (j->>0)::bigint, (j->>1)::bigint FROM workers w CROSS JOIN LATERAL json_array_elements(w.in_flight::json) j WHERE w.fenced_at IS NULL;

-- name: robots
SELECT {robots} FROM robots WHERE host = %(host)s AND origin = %(origin)s;

-- name: robots_of_host
SELECT {robots} FROM robots WHERE host = %(host)s ORDER BY origin LIMIT %(limit)s;

-- name: host
SELECT {hosts} FROM hosts WHERE host = %(host)s;

-- name: addresses
SELECT host, addresses FROM hosts WHERE host = ANY(%(hosts)s) AND addresses <> '';

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

-- name: queue_names
-- The hosts of a crawl by name behind another one, up to a name where one is given; without `text` all pass.
SELECT host FROM queues WHERE crawl = %(crawl)s AND host > %(after)s AND (%(last)s::text IS NULL OR host <= %(last)s) AND strpos(host, %(text)s) > 0 ORDER BY host LIMIT %(limit)s;

-- name: last_queue
-- The `rows_max`-th host of a crawl behind another one.
SELECT host FROM queues WHERE crawl = %(crawl)s AND host > %(after)s ORDER BY host LIMIT 1 OFFSET %(rows_max)s - 1;

-- name: queues_in_order
-- The hosts of a crawl behind another one, in any order: host_lists.py puts another place and direction in.
SELECT host FROM (SELECT q.host AS host, q.host AS place FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = %(crawl)s AND strpos(q.host, %(text)s) > 0) AS found
WHERE %(after)s::text = '' OR (place, host) > (SELECT q.host AS place, q.host FROM queues q LEFT JOIN hosts h ON h.host = q.host WHERE q.crawl = %(crawl)s AND q.host = %(after)s)
ORDER BY place ASC, host ASC LIMIT %(limit)s;

-- name: count_queues
-- The hosts of a crawl, counted up to a bound, and those with a text in their name.
SELECT count(*), count(*) FILTER (WHERE strpos(host, %(text)s) > 0) FROM (SELECT host FROM queues WHERE crawl = %(crawl)s LIMIT %(rows_max)s) AS counted;

-- name: hosts_of_crawl
-- The robots.txt of the origin that was asked last stands for its host.
SELECT q.host, (SELECT count(*) FROM (SELECT 1 FROM frontier WHERE queue = q.id LIMIT %(open_max)s) o), q.due, q.held, q.fetched, coalesce(h.delay_ms, 0), q.dead,
  {hosts: h.*}, r.version, r.access
FROM queues q LEFT JOIN hosts h ON h.host = q.host
  LEFT JOIN LATERAL (SELECT version, access FROM robots WHERE host = q.host ORDER BY fetched_at DESC, origin LIMIT 1) r ON true
WHERE q.crawl = %(crawl)s AND q.host = ANY(%(hosts)s);

-- name: host_names
-- By name behind another one, up to a name where one is given; without `text` all pass.
SELECT host FROM hosts WHERE host > %(after)s AND (%(last)s::text IS NULL OR host <= %(last)s) AND strpos(host, %(text)s) > 0 ORDER BY host LIMIT %(limit)s;

-- name: last_host
-- The `rows_max`-th host behind another one.
SELECT host FROM hosts WHERE host > %(after)s ORDER BY host LIMIT 1 OFFSET %(rows_max)s - 1;

-- name: hosts_in_order
-- As queues_in_order, of all crawls.
SELECT host FROM (SELECT h.host AS host, h.host AS place FROM hosts h WHERE strpos(h.host, %(text)s) > 0) AS found
WHERE %(after)s::text = '' OR (place, host) > (SELECT h.host AS place, h.host FROM hosts h WHERE h.host = %(after)s)
ORDER BY place ASC, host ASC LIMIT %(limit)s;

-- name: count_hosts
-- Counted up to a bound, and those with a text in their name.
SELECT count(*), count(*) FILTER (WHERE strpos(host, %(text)s) > 0) FROM (SELECT host FROM hosts LIMIT %(rows_max)s) AS counted;

-- name: all_hosts
SELECT {hosts: h.*}, r.version, r.access
FROM hosts h LEFT JOIN LATERAL (SELECT version, access FROM robots WHERE host = h.host ORDER BY fetched_at DESC, origin LIMIT 1) r ON true
WHERE h.host = ANY(%(hosts)s);

-- name: workers
SELECT w.id, w.name, w.pid, w.version, w.started_at, w.seen_at, coalesce(owned.parts, 0), w.flush_seq, w.in_flight, w.pages, w.pages_per_s, w.cpu, w.rss_bytes, w.received_per_s, w.sent_per_s,
  w.fenced_at IS NULL AND w.lease_until >= %(now)s, w.session
FROM workers w LEFT JOIN (SELECT owner, count(*) AS parts FROM partitions GROUP BY owner) owned ON owned.owner = w.id ORDER BY w.id DESC LIMIT 1000;

-- name: urls_by_id
SELECT id, url FROM urls WHERE id = ANY(%(ids)s);

-- name: mark_suspect
UPDATE frontier SET crashes = crashes + 1 WHERE url = %(url)s;

-- name: mark_deleted
UPDATE crawls SET deleted = true, state = 'cancelled', control = (SELECT version + 1 FROM control) WHERE id = %(crawl)s;

-- name: files_of_crawl
-- Files that no other crawl's pages name, without those of living sessions, which may be writing another crawl's pages into them just now.
SELECT name FROM archive_files WHERE worker NOT IN (SELECT id FROM workers WHERE fenced_at IS NULL)
  AND id IN (SELECT file FROM pages WHERE crawl = %(crawl)s) AND id NOT IN (SELECT file FROM pages WHERE crawl <> %(crawl)s AND file IS NOT NULL) ORDER BY name;

-- name: forget_file
DELETE FROM archive_files WHERE name = %(name)s;

-- name: archived
SELECT p.url, p.url, p."offset", p.length, p.content_hash FROM pages p
WHERE p.file = (SELECT id FROM archive_files WHERE name = %(name)s) AND (p."offset", p.url) > (%(offset)s, %(page)s) ORDER BY p."offset", p.url LIMIT %(limit)s;

-- name: archive_files
SELECT name, worker, open, cut FROM archive_files ORDER BY id;

-- name: archive_sizes
SELECT name, bytes FROM archive_files ORDER BY id;

-- name: pages_in_file
SELECT u.id, u.crawl, u.url, q.host, u.kind, p.state, p.title, p.content_type, p.fetched_at, p."offset", p.length, p.facts
FROM pages p JOIN urls u ON u.id = p.url JOIN queues q ON q.id = u.queue
WHERE p.file = (SELECT id FROM archive_files WHERE name = %(name)s) AND p."offset" >= %(start)s AND p."offset" < %(end)s ORDER BY p."offset" LIMIT %(limit)s;

-- name: kept_crawls
SELECT id FROM crawls WHERE NOT deleted ORDER BY id;

-- name: counted
-- By kind and state.
SELECT u.kind, p.state, count(*) FROM pages p JOIN urls u ON u.id = p.url WHERE p.crawl = %(crawl)s GROUP BY u.kind, p.state
UNION ALL SELECT u.kind, 0, count(*) FROM frontier f JOIN queues q ON q.id = f.queue JOIN urls u ON u.id = f.url WHERE q.crawl = %(crawl)s GROUP BY u.kind;
