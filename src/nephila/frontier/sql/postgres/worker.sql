-- The statements of a worker's flush, in the order of its transaction. Lists are arrays, one per column, for unnest.
-- `{hosts}` names the columns that columns.py lists under hosts, `{hosts: h.*}` writes each of them in the place of the asterisk.
-- Order of locks: own worker, new queues, limited crawls, urls, hosts, own queues, partitions, crawls.

-- name: fence
-- The fence: no `now` means that this batch was committed before, or that the session is fenced. With the lock of `changing`.
WITH clock AS MATERIALIZED (SELECT store_time(coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)) AS now),
  renewed AS (UPDATE workers SET flush_seq = %(seq)s, seen_at = now, lease_until = now + %(lease_ms)s, control_seen = %(control_seen)s, in_flight = %(in_flight)s
    FROM clock WHERE id = %(worker)s AND session = %(session)s AND flush_seq = %(seq)s::bigint - 1 AND fenced_at IS NULL RETURNING seen_at),
  changing AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared((20037::bigint << 48) + last_value) FROM change_numbers)
SELECT control.version, renewed.seen_at FROM control CROSS JOIN changing LEFT JOIN renewed ON true;

-- name: changing
-- Says until the commit: what this transaction draws of change_numbers is above this number. The rest of the key, 20037, is "NE".
SELECT pg_advisory_xact_lock_shared((20037::bigint << 48) + last_value) FROM change_numbers;

-- name: session
SELECT flush_seq, fenced_at FROM workers WHERE id = %s AND session = %s;

-- name: grants_of
SELECT crawl, pages FROM grants WHERE worker = %s;

-- name: open_crawls
SELECT id, state, reason, settings->'limits'->>'max_pages' IS NOT NULL FROM crawls WHERE state IN ('running', 'paused', 'ending') AND NOT deleted;

-- name: control_version
SELECT version FROM control;

-- name: end_urls
-- The permit: only an open row gets an outcome. (Ids are never given again.)
-- `entry` parts long lists.
WITH gone AS (DELETE FROM frontier f USING unnest(%s, %s, %s) AS o(url, crawl, entry) WHERE f.url = o.url RETURNING f.url, o.crawl, o.entry),
  noted AS (INSERT INTO changes(crawl, ended, urls) SELECT crawl, true, array_agg(url) FROM gone GROUP BY crawl, entry)
SELECT url FROM gone;

-- name: find_queues
SELECT q.crawl, q.host, q.id FROM unnest(%s, %s) AS wanted(crawl, host) JOIN queues q ON q.crawl = wanted.crawl AND q.host = wanted.host;

-- name: insert_queues
-- Due at once: nobody else can see such a queue before its rows, so nobody can put it to sleep before them.
INSERT INTO queues(crawl, host, part, due) SELECT crawl, host, part, %s FROM unnest(%s, %s, %s) AS new(crawl, host, part) ORDER BY crawl, host
ON CONFLICT DO NOTHING RETURNING crawl, host, id;

-- name: limits
-- Whether what is inserted is limited: by max_urls, or by max_frontier where upkeep does not evict.
SELECT id, settings->'limits'->>'max_urls' IS NOT NULL OR settings->'limits'->>'max_frontier' IS NOT NULL AND settings->'limits'->>'evict' IS DISTINCT FROM 'true'
FROM crawls WHERE id = ANY(%s);

-- name: lock_limited
-- Whoever inserts into a limited crawl waits here, so that the limit is exact.
-- What max_urls leaves, and max_frontier, unless upkeep evicts: each null where it is not set.
SELECT id, (settings->'limits'->>'max_urls')::bigint - urls_granted,
  CASE WHEN settings->'limits'->>'evict' IS DISTINCT FROM 'true' THEN (settings->'limits'->>'max_frontier')::bigint END
FROM crawls WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE;

-- name: known
-- Answers the places in the list of the URLs that exist.
SELECT n FROM unnest(%s, %s) WITH ORDINALITY AS wanted(queue, key, n) JOIN urls u ON u.queue = wanted.queue AND u.key = wanted.key;

-- name: add_sitemap_entries
INSERT INTO sitemap_entries(crawl, url, sitemap, lastmod, priority, notes)
SELECT e.crawl, u.id, e.sitemap, e.lastmod, e.priority, e.notes
FROM unnest(%s, %s, %s, %s, %s, %s, %s) AS e(crawl, sitemap, lastmod, priority, notes, queue, key) JOIN urls u ON u.queue = e.queue AND u.key = e.key
ORDER BY e.crawl, u.id ON CONFLICT DO NOTHING;

-- name: insert_urls
-- Ids in the order found, rows in the order of the key: two sessions that insert the same URLs never wait for each other in a circle.
-- What the links of a page have in common comes once for each page: half the columns to unnest, a tenth of the statement.
-- Only the owner changes a queue. Own ones that sleep are woken, the owners of others are told by an arrival; a queue made by this transaction is due anyway.
WITH new AS (
    INSERT INTO urls(id, found_at, {urls_of_link}, {urls_of_page}) OVERRIDING SYSTEM VALUE
    SELECT * FROM (SELECT nextval('urls_id_seq'), %(now)s::bigint, {urls_of_link}, {urls_of_page: (%(*)s)[page]}
      FROM unnest(%(page)s, {urls_of_link: %(*)s}) AS c(page, {urls_of_link})) found
    ORDER BY queue, key
    ON CONFLICT (queue, key) DO NOTHING RETURNING id, queue, crawl, prio, depth, kind),
  queued AS (INSERT INTO frontier(url, queue, prio) SELECT id, queue, prio FROM new),
  noted AS (INSERT INTO changes(crawl, ended, urls) SELECT crawl, false, array_agg(id) FROM new GROUP BY crawl, id >> 10),
  fed AS (SELECT array_agg(DISTINCT queue) AS queues FROM new),
  woken AS (UPDATE queues SET due = %(now)s
    WHERE id = ANY((SELECT queues FROM fed)::bigint[]) AND part = ANY(%(owned)s) AND held = 0 AND (due IS NULL OR due > %(now)s)),
  told AS (INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues
    WHERE id = ANY((SELECT queues FROM fed)::bigint[]) AND part <> ALL(%(owned)s) AND id <> ALL(%(created)s))
SELECT crawl, kind, depth, count(*) FROM new GROUP BY crawl, kind, depth;

-- name: remove_empty
-- New queues that a limit let no row into. Nobody else can see them.
DELETE FROM queues WHERE id = ANY(%s);

-- name: grant_urls
-- max_urls, once met, stays met: it is the limit that is named, unless max_pages was met before.
UPDATE crawls c SET urls_granted = c.urls_granted + v.inserted, limited_by = CASE WHEN c.limited_by <> 'max_pages' AND (v.limited_by = 'max_urls' OR c.limited_by = '') THEN v.limited_by ELSE c.limited_by END
FROM unnest(%s, %s, %s) AS v(crawl, inserted, limited_by) WHERE c.id = v.crawl;

-- name: insert_pages
-- Inserts the archive files of the pages too: their ids are made here.
WITH files AS (INSERT INTO archive_files(name, worker, bytes) SELECT name, %s, bytes FROM unnest(%s, %s) AS f(name, bytes) ORDER BY name
  ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes RETURNING name, id)
INSERT INTO pages(url, crawl, state, tries, reason, file, changed_at, {pages})
SELECT url, crawl, state, tries, reason, (SELECT id FROM files WHERE name = v.file), %s::bigint, {pages}
FROM unnest(%s, %s, %s, %s, %s, %s, {pages: %s}) AS v(url, crawl, state, tries, reason, file, {pages});

-- name: retry_urls
WITH again AS (UPDATE frontier f SET changed_at = %s, not_before = v.not_before, tries = v.tries, crashes = v.crashes, limited = v.limited, reason = v.reason
  FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s) AS v(url, crawl, entry, not_before, tries, crashes, limited, reason) WHERE f.url = v.url RETURNING v.url, v.crawl, v.entry)
INSERT INTO changes(crawl, ended, urls) SELECT crawl, false, array_agg(url) FROM again GROUP BY crawl, entry;

-- name: upsert_hosts
INSERT INTO hosts({hosts}) SELECT * FROM unnest({hosts: %s}) AS v({hosts}) ORDER BY host
ON CONFLICT (host) DO UPDATE SET {hosts_clock: * = excluded.*},
  addresses = CASE WHEN excluded.addresses = '' THEN hosts.addresses ELSE excluded.addresses END,
  cnames = CASE WHEN excluded.addresses = '' THEN hosts.cnames ELSE excluded.cnames END;

-- name: resolve_hosts
-- Hosts that were looked up without a request: the clock of a known one stays as it is.
INSERT INTO hosts({hosts}) SELECT * FROM unnest({hosts: %s}) AS v({hosts}) ORDER BY host
ON CONFLICT (host) DO UPDATE SET addresses = excluded.addresses, cnames = excluded.cnames;

-- name: upsert_robots
INSERT INTO robots({robots}) SELECT * FROM unnest({robots: %s}) AS v({robots}) ORDER BY host, origin
ON CONFLICT (host, origin) DO UPDATE SET {robots_answer: * = excluded.*},
  version = robots.version + (robots.body IS DISTINCT FROM excluded.body)::integer;

-- name: mark_dead
UPDATE queues SET dead = v.reason FROM unnest(%s, %s) AS v(queue, reason) WHERE id = v.queue;

-- name: release_queues
-- The queue is due at its first open row, not before the host's rest ends; a dead one at once: its rows end without a request.
-- Rows of a transaction that is not yet committed are not seen here: its arrival, which comes with them, wakes the queue.
UPDATE queues q SET held = 0, fetched = v.fetched, due =
  (SELECT CASE WHEN q.dead = '' THEN greatest(f.not_before, v.not_before) ELSE %(now)s END FROM frontier f WHERE f.queue = q.id ORDER BY f.not_before LIMIT 1)
FROM unnest(%(queue)s, %(fetched)s, %(not_before)s) AS v(queue, fetched, not_before) WHERE q.id = v.queue AND q.held = %(worker)s;

-- name: wake_released
UPDATE queues SET due = %(now)s WHERE id = ANY(%(queues)s) AND held = 0 AND due > %(now)s;

-- name: free_lost
-- Queues that are marked as ours but not held are free again: the answer that handed them out was lost.
UPDATE queues SET held = 0 WHERE part = ANY(%s) AND held = %s AND due IS NOT NULL AND id <> ALL(%s);

-- name: hand_back
-- `forced_at` stays, so that the next owner too waits a full delay since then.
UPDATE partitions p SET owner = NULL FROM (SELECT part FROM partitions WHERE part = ANY(%s) AND owner = %s ORDER BY part FOR UPDATE) mine WHERE p.part = mine.part;

-- name: note_fetched
UPDATE queues q SET fetched = v.fetched FROM unnest(%s, %s) AS v(queue, fetched) WHERE q.id = v.queue AND q.held = %s;

-- name: take_arrivals
-- Takes the queues that others inserted rows into, and wakes those that sleep. (The owner of a resting host sends them back to rest.)
WITH taken AS (DELETE FROM arrivals WHERE id IN (SELECT id FROM arrivals WHERE part = ANY(%(parts)s) LIMIT %(limit)s) RETURNING queue),
  woken AS (UPDATE queues SET due = %(now)s WHERE id IN (SELECT queue FROM taken) AND held = 0 AND (due IS NULL OR due > %(now)s))
SELECT DISTINCT queue FROM taken ORDER BY queue;

-- name: load_queues
-- Free queues with due work in our partitions, each partition one range of the index, and the window of each: retries whose time has come,
-- then fresh rows, both in the order of the index. Held from now on; parked (-1) where the crawl does not run; those that must end stay free.
WITH found AS MATERIALIZED (
    SELECT q.* FROM unnest(%(parts)s) AS p(part) CROSS JOIN LATERAL
      (SELECT id AS queue, crawl, host, fetched, dead, part FROM queues WHERE part = p.part AND held = 0 AND due IS NOT NULL AND due <= %(now)s ORDER BY due LIMIT %(each)s) q
    LIMIT %(limit)s),
  taken AS (UPDATE queues q SET held = CASE WHEN q.crawl = ANY(%(running)s) THEN %(worker)s ELSE -1 END
    FROM found f WHERE q.id = f.queue AND f.dead = '' AND f.crawl <> ALL(%(ending)s))
SELECT f.queue, f.crawl, f.host, f.fetched, f.dead, f.part, {rows}
FROM found f LEFT JOIN LATERAL (
  (SELECT url, tries, crashes, limited FROM frontier WHERE queue = f.queue AND not_before BETWEEN 1 AND %(now)s ORDER BY not_before, prio, url LIMIT %(window)s)
  UNION ALL (SELECT url, tries, crashes, limited FROM frontier WHERE queue = f.queue AND not_before = 0 ORDER BY prio, url LIMIT %(window)s)
  LIMIT %(window)s) w(next, tries, crashes, limited) ON f.dead = '' AND f.crawl = ANY(%(running)s)
LEFT JOIN urls u ON u.id = w.next;

-- name: refill_queues
SELECT q.queue, {rows}
FROM unnest(%(queue)s, %(limit)s) AS q(queue, n) CROSS JOIN LATERAL (
  (SELECT url, tries, crashes, limited FROM frontier WHERE queue = q.queue AND not_before BETWEEN 1 AND %(now)s ORDER BY not_before, prio, url LIMIT q.n)
  UNION ALL (SELECT url, tries, crashes, limited FROM frontier WHERE queue = q.queue AND not_before = 0 ORDER BY prio, url LIMIT q.n)
  LIMIT q.n) w(next, tries, crashes, limited)
JOIN urls u ON u.id = w.next;

-- name: ending_queues
-- Free queues of a crawl that ends, resting and parked ones too: nothing will be asked of their hosts.
SELECT id, crawl, dead FROM queues WHERE crawl = ANY(%s) AND part = ANY(%s) AND due IS NOT NULL AND held <= 0 LIMIT %s;

-- name: end_rows
-- Ends a chunk of the open rows of these queues without a request.
WITH ending AS (SELECT * FROM unnest(%(queue)s, %(crawl)s, %(state)s, %(reason)s) AS e(queue, crawl, state, reason)),
  gone AS (DELETE FROM frontier WHERE url IN (
    SELECT f.url FROM ending CROSS JOIN LATERAL (SELECT url FROM frontier WHERE queue = ending.queue ORDER BY not_before, prio, url LIMIT %(chunk)s) f LIMIT %(chunk)s)
    RETURNING url, queue, tries),
  ended AS (INSERT INTO pages(url, crawl, state, tries, reason, changed_at, fetched_at, body_bytes, wire_bytes)
    SELECT gone.url, ending.crawl, ending.state, gone.tries, ending.reason, %(now)s, 0, 0, 0 FROM gone JOIN ending USING (queue)),
  noted AS (INSERT INTO changes(crawl, ended, urls) SELECT crawl, true, array_agg(url)
    FROM (SELECT crawl, url, row_number() OVER (PARTITION BY crawl) >> 10 AS entry FROM gone JOIN ending USING (queue)) numbered GROUP BY crawl, entry)
SELECT gone.queue, u.kind, count(*) FROM gone JOIN urls u ON u.id = gone.url GROUP BY gone.queue, u.kind;

-- name: rest_queues
-- A queue without work now is due at its first open row, or sleeps until something arrives.
UPDATE queues q SET held = 0, due = (SELECT greatest(f.not_before, v.not_before) FROM frontier f WHERE f.queue = q.id ORDER BY f.not_before LIMIT 1)
FROM unnest(%s, %s) AS v(queue, not_before) WHERE q.id = v.queue;

-- name: hosts
-- With the robots.txt of each of their origins: a row for each of these, one without if there is none.
SELECT {hosts: h.*}, {robots: r.*}
FROM unnest(%s) AS wanted(host) LEFT JOIN hosts h ON h.host = wanted.host LEFT JOIN robots r ON r.host = wanted.host;

-- name: next_due
SELECT min(q.due) FROM unnest(%s) AS p(part) CROSS JOIN LATERAL
  (SELECT due FROM queues WHERE part = p.part AND held = 0 AND due IS NOT NULL ORDER BY due LIMIT 1) q;

-- name: lock_grants
-- How many pages of each crawl nobody has in hand yet, and how many this session has.
SELECT c.id, coalesce((c.settings->'limits'->>'max_pages')::bigint, 9223372036854775807) - c.pages_granted,
  (SELECT pages FROM grants g WHERE g.crawl = c.id AND g.worker = %s)
FROM crawls c WHERE c.id = ANY(%s) ORDER BY c.id FOR NO KEY UPDATE;

-- name: grant_pages
-- Writes how many pages of each crawl this session has in hand, and adds what was granted.
WITH shares AS (SELECT * FROM unnest(%s, %s, %s) AS v(crawl, in_hand, granted)),
  counted AS (UPDATE crawls c SET pages_granted = c.pages_granted + shares.granted FROM shares WHERE c.id = shares.crawl AND shares.granted <> 0)
INSERT INTO grants(crawl, worker, pages) SELECT crawl, %s, in_hand FROM shares ORDER BY crawl
ON CONFLICT (crawl, worker) DO UPDATE SET pages = excluded.pages;

-- name: count_ungranted
UPDATE crawls c SET pages_granted = c.pages_granted + v.pages FROM unnest(%s, %s) AS v(crawl, pages)
WHERE c.id = v.crawl AND c.settings->'limits'->>'max_pages' IS NOT NULL;

-- name: granted_unused
SELECT coalesce(sum(pages), 0)::bigint FROM grants WHERE crawl = %s;

-- name: end_crawl_at_limit
-- Where nothing changes, the control version stays too.
WITH ending AS (SELECT id FROM crawls WHERE id = %(crawl)s AND state IN ('running', 'paused') FOR NO KEY UPDATE),
  control AS (UPDATE control SET version = version + 1 WHERE EXISTS (SELECT FROM ending) RETURNING version)
UPDATE crawls c SET state = 'ending', reason = %(reason)s, limited_by = %(limited_by)s, control = control.version
FROM ending, control WHERE c.id = ending.id RETURNING c.id;

-- name: outlives_pages
SELECT coalesce(settings #>> '{scope,requisites}', 'none') <> 'none' FROM crawls WHERE id = %s;

-- name: end_pages_at_limit
-- A crawl with requisites goes on at max_pages, until it has those of its pages: only its open pages end. No row: it was here before.
WITH ending AS (SELECT id FROM crawls WHERE id = %s AND state IN ('running', 'paused') AND limited_by <> 'max_pages' FOR NO KEY UPDATE),
  control AS (UPDATE control SET version = version + 1 WHERE EXISTS (SELECT FROM ending) RETURNING version)
UPDATE crawls c SET limited_by = 'max_pages', control = control.version FROM ending, control WHERE c.id = ending.id RETURNING c.id;

-- name: bump_control
UPDATE control SET version = version + 1;

-- name: joined_hosts
SELECT joined_hosts FROM crawls WHERE id = %s FOR UPDATE;

-- name: join_hosts
UPDATE crawls SET joined_hosts = %s, control = (SELECT version FROM control) WHERE id = %s;

-- name: count
-- Tallies, refusals and throughput: rows of this session alone. Answers the control version as it is now.
WITH tallied AS (INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, %s, name, n FROM unnest(%s, %s, %s) AS v(crawl, name, n) ORDER BY crawl, name
  ON CONFLICT (crawl, worker, name) DO UPDATE SET n = CASE WHEN tallies.name = 'depth_max' THEN greatest(tallies.n, excluded.n) ELSE tallies.n + excluded.n END),
  refused AS (INSERT INTO refusals(crawl, worker, host, reason, n) SELECT crawl, %s, host, reason, n FROM unnest(%s, %s, %s, %s) AS v(crawl, host, reason, n) ORDER BY crawl, host, reason
    ON CONFLICT (crawl, worker, host, reason) DO UPDATE SET n = refusals.n + excluded.n),
  done AS (INSERT INTO throughput SELECT * FROM (VALUES (%s::bigint, %s::integer, %s::bigint, %s::bigint)) AS v(slot, worker, pages, errors) WHERE pages + errors > 0
    ON CONFLICT (slot, worker) DO UPDATE SET pages = throughput.pages + excluded.pages, errors = throughput.errors + excluded.errors)
SELECT version FROM control;

-- name: add_tallies
-- For seeds, which no session inserts.
INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, %s, name, n FROM unnest(%s, %s, %s) AS v(crawl, name, n) ORDER BY crawl, name
ON CONFLICT (crawl, worker, name) DO UPDATE SET n = CASE WHEN tallies.name = 'depth_max' THEN greatest(tallies.n, excluded.n) ELSE tallies.n + excluded.n END;

-- name: add_refusals
INSERT INTO refusals(crawl, worker, host, reason, n) SELECT crawl, %s, host, reason, n FROM unnest(%s, %s, %s, %s) AS v(crawl, host, reason, n) ORDER BY crawl, host, reason
ON CONFLICT (crawl, worker, host, reason) DO UPDATE SET n = refusals.n + excluded.n;

-- name: add_refused_rules
INSERT INTO refused_rules(crawl, worker, reason, rule, n) SELECT crawl, %s, reason, rule, n FROM unnest(%s, %s, %s, %s) AS v(crawl, reason, rule, n) ORDER BY crawl, reason, rule
ON CONFLICT (crawl, worker, reason, rule) DO UPDATE SET n = refused_rules.n + excluded.n;

-- name: add_refused_links
-- Two sessions at once may keep a few more.
INSERT INTO refused_links(crawl, reason, rule, host, url, found_on) SELECT * FROM unnest(%s, %s, %s, %s, %s, %s) AS v(crawl, reason, rule, host, url, found_on)
WHERE (SELECT count(*) FROM refused_links r WHERE r.crawl = v.crawl AND r.reason = v.reason AND r.rule = v.rule AND r.host = v.host) < %s
ON CONFLICT DO NOTHING;

-- name: add_errors
INSERT INTO errors({errors}) SELECT * FROM unnest({errors: %s});
