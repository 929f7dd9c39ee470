-- The end of sessions, by anyone: order of locks workers, partitions, grants, crawls.

-- name: dead
-- A row that is locked just now is being renewed or fenced by somebody else.
SELECT id, json_array_length(in_flight::json) FROM workers WHERE fenced_at IS NULL AND lease_until < %(now)s AND id <> %(me)s ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: fence_sessions
UPDATE workers SET fenced_at = %(now)s WHERE id = ANY(%(workers)s::integer[]) AND fenced_at IS NULL;

-- name: free_partitions
-- What they owned is free, what was offered to them is not any more. Locked in the order of `part`: others do so too.
UPDATE partitions p SET
  owner = CASE WHEN p.owner = ANY(%(workers)s::integer[]) THEN NULL ELSE p.owner END,
  offered_to = CASE WHEN p.owner = ANY(%(workers)s::integer[]) OR p.offered_to = ANY(%(workers)s::integer[]) THEN NULL ELSE p.offered_to END,
  forced_at = CASE WHEN p.owner = ANY(%(workers)s::integer[]) THEN coalesce(%(forced_at)s::bigint, p.forced_at) ELSE p.forced_at END
FROM (SELECT part FROM partitions WHERE owner = ANY(%(workers)s::integer[]) OR offered_to = ANY(%(workers)s::integer[]) ORDER BY part FOR UPDATE) locked
WHERE p.part = locked.part;

-- name: return_grants
-- Pages that they had in hand and did not use go back to their crawls.
WITH dropped AS (DELETE FROM grants WHERE worker = ANY(%(workers)s::integer[]) RETURNING crawl, pages),
  unused AS (SELECT crawl, sum(pages)::bigint AS pages FROM dropped GROUP BY crawl),
  locked AS (SELECT id FROM crawls WHERE id IN (SELECT crawl FROM unused) ORDER BY id FOR UPDATE)
UPDATE crawls c SET pages_granted = c.pages_granted - unused.pages FROM unused JOIN locked ON locked.id = unused.crawl WHERE c.id = unused.crawl;
