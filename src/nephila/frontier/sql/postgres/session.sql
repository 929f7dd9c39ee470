-- A session and its partitions: joining and leasing. (The end of sessions: sessions.sql.)

-- name: join
INSERT INTO workers(session, name, pid, version, started_at, seen_at, lease_until)
VALUES (%(session)s, %(name)s, %(pid)s, %(version)s, %(now)s, %(now)s, %(now)s + %(lease_ms)s::bigint) RETURNING id;

-- name: renew
-- No row: fenced. (By its token too: a database that was restored from a backup gives the numbers of workers again.)
UPDATE workers SET seen_at = clock.now, lease_until = clock.now + %(lease_ms)s, pages = %(pages)s, pages_per_s = %(pages_per_s)s, cpu = %(cpu)s, rss_bytes = %(rss_bytes)s,
  received_per_s = %(received_per_s)s, sent_per_s = %(sent_per_s)s
FROM (SELECT store_time(coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)) AS now) clock
WHERE id = %(worker)s AND session = %(session)s AND fenced_at IS NULL RETURNING seen_at;

-- name: set_loads
UPDATE partitions p SET load = v.load FROM unnest(%s, %s) AS v(part, load) WHERE p.part = v.part AND p.owner = %s AND p.load <> v.load;

-- name: live
SELECT id FROM workers WHERE fenced_at IS NULL ORDER BY id;

-- name: partitions
SELECT part, owner, offered_to, load, forced_at FROM partitions ORDER BY part;

-- name: take
-- Two sessions may want the same one: the first to lock it has it.
UPDATE partitions p SET owner = %s, offered_to = NULL
FROM (SELECT part FROM partitions WHERE part = ANY(%s) AND owner IS NULL ORDER BY part FOR UPDATE SKIP LOCKED) free WHERE p.part = free.part RETURNING p.part;

-- name: offer
UPDATE partitions p SET offered_to = v.offered_to FROM unnest(%s, %s) AS v(part, offered_to) WHERE p.part = v.part AND p.owner = %s;

-- name: owned
SELECT part FROM partitions WHERE owner = %s;

-- name: free_queues
-- Whatever the last owner of these partitions held is free.
UPDATE queues SET held = 0 WHERE part = ANY(%s) AND held > 0 AND due IS NOT NULL;

-- name: lock_session
SELECT id FROM workers WHERE id = %s AND session = %s FOR UPDATE;
