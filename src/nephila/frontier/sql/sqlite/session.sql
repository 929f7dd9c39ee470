-- Sessions and partitions: joining, leasing, fencing.

-- name: join
INSERT INTO workers(session, name, pid, version, started_at, seen_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id;

-- name: set_vitals
UPDATE workers SET pages = ?, pages_per_s = ?, cpu = ?, rss_bytes = ?, received_per_s = ?, sent_per_s = ? WHERE id = ?;

-- name: live
SELECT id, session, json_array_length(in_flight) FROM workers WHERE fenced_at IS NULL;

-- name: fence_session
UPDATE workers SET fenced_at = ? WHERE id = ? AND fenced_at IS NULL;

-- name: free_partitions
UPDATE partitions SET owner = NULL, offered_to = NULL, forced_at = coalesce(?, forced_at) WHERE owner = ?;

-- name: withdraw_offers
UPDATE partitions SET offered_to = NULL WHERE offered_to = ?;

-- name: return_grants
UPDATE crawls SET pages_granted = pages_granted - (SELECT pages FROM grants WHERE crawl = crawls.id AND worker = ?1)
WHERE id IN (SELECT crawl FROM grants WHERE worker = ?1);

-- name: drop_grants
DELETE FROM grants WHERE worker = ?;

-- name: owned
SELECT part FROM partitions WHERE owner = ?;

-- name: free_queues
-- Whatever the last owner of these partitions held is free.
UPDATE queues SET held = 0 WHERE part IN (SELECT value FROM json_each(?1)) AND held > 0 AND due IS NOT NULL;

-- name: partitions
SELECT part, owner, offered_to, load, forced_at FROM partitions;

-- name: set_load
UPDATE partitions SET load = ? WHERE part = ? AND owner = ?;

-- name: take
UPDATE partitions SET owner = ?, offered_to = NULL WHERE part = ? AND owner IS NULL;

-- name: offer
UPDATE partitions SET offered_to = ? WHERE part = ? AND owner = ?;
