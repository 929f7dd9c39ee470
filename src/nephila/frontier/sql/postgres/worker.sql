-- The statements of a worker's flush, in the order of its transaction. Lists are arrays, one per column, for unnest.
-- Order of locks: own worker, new queues, limited crawls, urls, hosts, own queues, partitions, crawls.

-- name: fence
-- The fence: no `now` means that this batch was committed before, or that the session is fenced.
WITH clock AS MATERIALIZED (SELECT coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now),
  renewed AS (UPDATE workers SET flush_seq = %(seq)s, seen_at = now, lease_until = now + %(lease_ms)s, control_seen = %(control_seen)s, in_flight = %(in_flight)s
    FROM clock WHERE id = %(worker)s AND session = %(session)s AND flush_seq = %(seq)s::bigint - 1 AND fenced_at IS NULL RETURNING seen_at)
SELECT control.version, renewed.seen_at FROM control LEFT JOIN renewed ON true;

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
DELETE FROM frontier WHERE url = ANY(%s) RETURNING url;

-- name: find_queues
SELECT q.crawl, q.host, q.id FROM unnest(%s, %s) AS wanted(crawl, host) JOIN queues q ON q.crawl = wanted.crawl AND q.host = wanted.host;

-- name: insert_queues
-- Due at once: nobody else can see such a queue before its rows, so nobody can put it to sleep before them.
INSERT INTO queues(crawl, host, part, due) SELECT crawl, host, part, %s FROM unnest(%s, %s, %s) AS new(crawl, host, part) ORDER BY crawl, host
ON CONFLICT DO NOTHING RETURNING crawl, host, id;

-- name: limits
SELECT id, settings->'limits'->>'max_urls' IS NOT NULL FROM crawls WHERE id = ANY(%s);

-- name: lock_limited
-- Whoever inserts into a limited crawl waits here, so that the limit is exact.
SELECT id, (settings->'limits'->>'max_urls')::bigint - urls_granted FROM crawls WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE;

-- name: known
-- Which of these exist, by their place in the list.
SELECT n FROM unnest(%s, %s) WITH ORDINALITY AS wanted(queue, key, n) JOIN urls u ON u.queue = wanted.queue AND u.key = wanted.key;

-- name: insert_urls
-- Ids in the order found, rows in the order of the key: two sessions that insert the same URLs never wait for each other in a circle.
-- What the links of a page have in common comes once for each page: half the columns to unnest, a tenth of the statement.
-- Only the owner changes a queue. Own ones that sleep are woken, the owners of others are told by an arrival; a queue made by this transaction is due anyway.
WITH new AS (
    INSERT INTO urls(id, queue, parent, crawl, depth, prio, kind, hops, key, url, raw) OVERRIDING SYSTEM VALUE
    SELECT * FROM (SELECT nextval('urls_id_seq'), queue, (%(parent)s)[page], (%(crawl)s)[page], (%(depth)s)[page], (%(prio)s)[page], (%(kind)s)[page], (%(hops)s)[page], key, url, raw
      FROM unnest(%(queue)s, %(page)s, %(key)s, %(url)s, %(raw)s) AS c(queue, page, key, url, raw)) found
    ORDER BY queue, key
    ON CONFLICT (queue, key) DO NOTHING RETURNING id, queue, crawl, prio),
  queued AS (INSERT INTO frontier(url, queue, prio) SELECT id, queue, prio FROM new),
  fed AS (SELECT array_agg(DISTINCT queue) AS queues FROM new),
  woken AS (UPDATE queues SET due = %(now)s
    WHERE id = ANY((SELECT queues FROM fed)::bigint[]) AND part = ANY(%(owned)s) AND held = 0 AND (due IS NULL OR due > %(now)s)),
  told AS (INSERT INTO arrivals(part, queue, crawl) SELECT part, id, crawl FROM queues
    WHERE id = ANY((SELECT queues FROM fed)::bigint[]) AND part <> ALL(%(owned)s) AND id <> ALL(%(created)s))
SELECT crawl, count(*) FROM new GROUP BY crawl;

-- name: grant_urls
UPDATE crawls SET urls_granted = urls_granted + inserted, limited_by = CASE WHEN refused > 0 THEN 'max_urls' ELSE limited_by END
FROM unnest(%s, %s, %s) AS granted(crawl, inserted, refused) WHERE id = granted.crawl;

-- name: insert_pages
-- With the archive files that they lie in, whose ids are made here.
WITH files AS (INSERT INTO archive_files(name, worker, bytes) SELECT name, %s, bytes FROM unnest(%s, %s) AS f(name, bytes) ORDER BY name
  ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes RETURNING name, id)
INSERT INTO pages(url, crawl, state, tries, reason, status, content_type, body_bytes, wire_bytes, fetched_at, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms,
  ip, protocol, charset, title, facts, content_hash, file, "offset", length, truncated, redirect_to, error, links, refused)
SELECT url, crawl, state, tries, reason, status, content_type, body_bytes, wire_bytes, fetched_at, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms,
  ip, protocol, charset, title, facts, content_hash, (SELECT id FROM files WHERE name = v.file), "offset", length, truncated, redirect_to, error, links, refused
FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
  AS v(url, crawl, state, tries, reason, status, content_type, body_bytes, wire_bytes, fetched_at, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms,
  ip, protocol, charset, title, facts, content_hash, file, "offset", length, truncated, redirect_to, error, links, refused);

-- name: retry_urls
UPDATE frontier f SET not_before = v.not_before, tries = v.tries, crashes = v.crashes, reason = v.reason
FROM unnest(%s, %s, %s, %s, %s) AS v(url, not_before, tries, crashes, reason) WHERE f.url = v.url;

-- name: upsert_hosts
INSERT INTO hosts(host, next_at, delay_ms, latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms, rest_reason, requests, addresses, cnames)
SELECT * FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ORDER BY 1
ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at, delay_ms = excluded.delay_ms, latency_ms = excluded.latency_ms, slowdown = excluded.slowdown,
  errors = excluded.errors, strikes = excluded.strikes, nxdomain = excluded.nxdomain, crawl_delay_ms = excluded.crawl_delay_ms,
  rest_reason = excluded.rest_reason, requests = excluded.requests,
  addresses = CASE WHEN excluded.addresses = '' THEN hosts.addresses ELSE excluded.addresses END,
  cnames = CASE WHEN excluded.addresses = '' THEN hosts.cnames ELSE excluded.cnames END;

-- name: resolve_hosts
-- Looked up without a request: of a known host the clock stays as it is.
INSERT INTO hosts(host, next_at, delay_ms, latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms, rest_reason, requests, addresses, cnames)
SELECT * FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ORDER BY 1
ON CONFLICT (host) DO UPDATE SET addresses = excluded.addresses, cnames = excluded.cnames;

-- name: upsert_robots
INSERT INTO robots(host, origin, access, status, body, expires_at, failures, detail, fetched_at)
SELECT * FROM unnest(%s, %s, %s, %s, %s, %s, %s, %s, %s) ORDER BY 1, 2
ON CONFLICT (host, origin) DO UPDATE SET access = excluded.access, status = excluded.status, body = excluded.body, expires_at = excluded.expires_at,
  failures = excluded.failures, detail = excluded.detail, fetched_at = excluded.fetched_at,
  version = robots.version + (robots.body IS DISTINCT FROM excluded.body)::integer;

-- name: mark_dead
UPDATE queues SET dead = v.reason FROM unnest(%s, %s) AS v(queue, reason) WHERE id = v.queue;

-- name: release_queues
-- Due at its first open row, not before the host's rest ends; a dead queue at once: its rows end without a request.
-- Rows of a transaction that is not yet committed are not seen here: its arrival, which comes with them, wakes the queue.
UPDATE queues q SET held = 0, fetched = v.fetched, due =
  (SELECT CASE WHEN q.dead = '' THEN greatest(f.not_before, v.not_before) ELSE %(now)s END FROM frontier f WHERE f.queue = q.id ORDER BY f.not_before LIMIT 1)
FROM unnest(%(queue)s, %(fetched)s, %(not_before)s) AS v(queue, fetched, not_before) WHERE q.id = v.queue AND q.held = %(worker)s;

-- name: wake_released
UPDATE queues SET due = %(now)s WHERE id = ANY(%(queues)s) AND held = 0 AND due > %(now)s;

-- name: free_lost
-- After a lost answer: what is marked as ours but not in our hands is free again.
UPDATE queues SET held = 0 WHERE part = ANY(%s) AND held = %s AND due IS NOT NULL AND id <> ALL(%s);

-- name: hand_back
-- `forced_at` stays: the next owner too waits a full delay from then, however short the time between was.
UPDATE partitions p SET owner = NULL FROM (SELECT part FROM partitions WHERE part = ANY(%s) AND owner = %s ORDER BY part FOR UPDATE) mine WHERE p.part = mine.part;

-- name: take_arrivals
-- What others inserted for us; sleeping queues of them are woken. (A resting host's owner will send it back to rest.)
WITH taken AS (DELETE FROM arrivals WHERE id IN (SELECT id FROM arrivals WHERE part = ANY(%(parts)s) LIMIT %(limit)s) RETURNING queue),
  woken AS (UPDATE queues SET due = %(now)s WHERE id IN (SELECT queue FROM taken) AND held = 0 AND (due IS NULL OR due > %(now)s))
SELECT DISTINCT queue FROM taken ORDER BY queue;

-- name: load_queues
-- Free queues with due work in our partitions, each partition one range of the index, and the window of each: retries whose time has come,
-- then fresh rows, both in the order of the index. Held from now on; parked (-1) where the crawl does not run; those that must end stay free.
WITH found AS MATERIALIZED (
    SELECT q.* FROM unnest(%(parts)s) AS p(part) CROSS JOIN LATERAL
      (SELECT id, crawl, host, fetched, dead, part FROM queues WHERE part = p.part AND held = 0 AND due IS NOT NULL AND due <= %(now)s ORDER BY due LIMIT %(each)s) q
    LIMIT %(limit)s),
  taken AS (UPDATE queues q SET held = CASE WHEN q.crawl = ANY(%(running)s) THEN %(worker)s ELSE -1 END
    FROM found f WHERE q.id = f.id AND f.dead = '' AND f.crawl <> ALL(%(ending)s))
SELECT f.id, f.crawl, f.host, f.fetched, f.dead, f.part, u.id, u.url, u.depth, u.kind, u.hops, w.tries, w.crashes, u.raw
FROM found f LEFT JOIN LATERAL (
  (SELECT url, tries, crashes FROM frontier WHERE queue = f.id AND not_before BETWEEN 1 AND %(now)s ORDER BY not_before, prio, url LIMIT %(window)s)
  UNION ALL (SELECT url, tries, crashes FROM frontier WHERE queue = f.id AND not_before = 0 ORDER BY prio, url LIMIT %(window)s)
  LIMIT %(window)s) w ON f.dead = '' AND f.crawl = ANY(%(running)s)
LEFT JOIN urls u ON u.id = w.url;

-- name: refill_queues
SELECT q.queue, u.id, u.url, u.depth, u.kind, u.hops, w.tries, w.crashes, u.raw
FROM unnest(%(queue)s, %(limit)s) AS q(queue, n) CROSS JOIN LATERAL (
  (SELECT url, tries, crashes FROM frontier WHERE queue = q.queue AND not_before BETWEEN 1 AND %(now)s ORDER BY not_before, prio, url LIMIT q.n)
  UNION ALL (SELECT url, tries, crashes FROM frontier WHERE queue = q.queue AND not_before = 0 ORDER BY prio, url LIMIT q.n)
  LIMIT q.n) w
JOIN urls u ON u.id = w.url;

-- name: ending_queues
-- Free queues of a crawl that ends, resting and parked ones too: nothing will be asked of their hosts.
SELECT id, crawl, dead FROM queues WHERE crawl = ANY(%s) AND part = ANY(%s) AND due IS NOT NULL AND held <= 0 LIMIT %s;

-- name: end_rows
-- A chunk of the open rows of these queues ends without a request.
WITH ending AS (SELECT * FROM unnest(%(queue)s, %(crawl)s, %(state)s, %(reason)s) AS e(queue, crawl, state, reason)),
  gone AS (DELETE FROM frontier WHERE url IN (
    SELECT f.url FROM ending CROSS JOIN LATERAL (SELECT url FROM frontier WHERE queue = ending.queue ORDER BY not_before, prio, url LIMIT %(chunk)s) f LIMIT %(chunk)s)
    RETURNING url, queue, tries),
  ended AS (INSERT INTO pages(url, crawl, state, tries, reason, fetched_at, body_bytes, wire_bytes)
    SELECT gone.url, ending.crawl, ending.state, gone.tries, ending.reason, 0, 0, 0 FROM gone JOIN ending USING (queue))
SELECT queue, count(*) FROM gone GROUP BY queue;

-- name: rest_queues
-- Nothing to do now: due at its first open row, or never until something arrives.
UPDATE queues q SET held = 0, due = (SELECT greatest(f.not_before, v.not_before) FROM frontier f WHERE f.queue = q.id ORDER BY f.not_before LIMIT 1)
FROM unnest(%s, %s) AS v(queue, not_before) WHERE q.id = v.queue;

-- name: hosts
-- With the robots.txt of each of their origins: a row for each of these, one without if there is none.
SELECT h.host, h.next_at, h.latency_ms, h.slowdown, h.errors, h.strikes, h.nxdomain, h.crawl_delay_ms, h.override_ms, h.rest_reason, h.requests, h.addresses <> '',
  wanted.host, r.origin, r.access, r.status, r.body, r.expires_at, r.failures, r.detail, r.fetched_at
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
-- Of each crawl what is in this session's hand now, and by how much more is granted.
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
-- Once: where nothing changes the control version stands still.
WITH ending AS (SELECT id FROM crawls WHERE id = %(crawl)s AND state IN ('running', 'paused') FOR NO KEY UPDATE),
  control AS (UPDATE control SET version = version + 1 WHERE EXISTS (SELECT FROM ending) RETURNING version)
UPDATE crawls c SET state = 'ending', reason = %(reason)s, limited_by = %(limited_by)s, control = control.version
FROM ending, control WHERE c.id = ending.id RETURNING c.id;

-- name: bump_control
UPDATE control SET version = version + 1;

-- name: join_host
UPDATE crawls SET joined_hosts = (joined_hosts::jsonb || to_jsonb(%(host)s::text))::text, control = (SELECT version FROM control)
WHERE id = %(crawl)s AND NOT joined_hosts::jsonb ? %(host)s::text;

-- name: count
-- Tallies and refusals: rows of this session alone. Answers the control version as it is now.
WITH tallied AS (INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, %s, name, n FROM unnest(%s, %s, %s) AS v(crawl, name, n) ORDER BY crawl, name
  ON CONFLICT (crawl, worker, name) DO UPDATE SET n = tallies.n + excluded.n),
  refused AS (INSERT INTO refusals(crawl, worker, host, reason, n) SELECT crawl, %s, host, reason, n FROM unnest(%s, %s, %s, %s) AS v(crawl, host, reason, n) ORDER BY crawl, host, reason
    ON CONFLICT (crawl, worker, host, reason) DO UPDATE SET n = refusals.n + excluded.n)
SELECT version FROM control;

-- name: add_tallies
-- Of seeds, which no session inserts.
INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, %s, name, n FROM unnest(%s, %s, %s) AS v(crawl, name, n) ORDER BY crawl, name
ON CONFLICT (crawl, worker, name) DO UPDATE SET n = tallies.n + excluded.n;

-- name: add_refusals
INSERT INTO refusals(crawl, worker, host, reason, n) SELECT crawl, %s, host, reason, n FROM unnest(%s, %s, %s, %s) AS v(crawl, host, reason, n) ORDER BY crawl, host, reason
ON CONFLICT (crawl, worker, host, reason) DO UPDATE SET n = refusals.n + excluded.n;

-- name: add_errors
INSERT INTO errors(at, worker, crawl, url, reason, detail, tries) SELECT * FROM unnest(%s, %s, %s, %s, %s, %s, %s);
