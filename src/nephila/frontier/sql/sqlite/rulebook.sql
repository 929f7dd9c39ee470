-- What operators decide while crawls run. Every change moves the control version.

-- name: blocks
SELECT id, kind, value, reason, created_by, created_at FROM blocks ORDER BY id;

-- name: host_rules
SELECT host, delay_ms, blocked_until, reason, created_by, created_at FROM host_rules;

-- name: floor
SELECT floor_ms FROM control;

-- name: set_floor
UPDATE control SET floor_ms = ?;

-- name: count_blocks
SELECT count(*) FROM blocks;

-- name: block
SELECT id, kind, value, reason, created_by, created_at FROM blocks WHERE kind = ? AND value = ?;

-- name: add_block
INSERT INTO blocks(kind, value, reason, created_by, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: remove_block
DELETE FROM blocks WHERE id = ?;

-- name: count_host_rules
SELECT count(*) FROM host_rules;

-- name: set_host
INSERT INTO host_rules(host, delay_ms, blocked_until, reason, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET delay_ms = excluded.delay_ms, blocked_until = excluded.blocked_until,
  reason = excluded.reason, created_by = excluded.created_by, created_at = excluded.created_at;

-- name: clear_host
DELETE FROM host_rules WHERE host = ?;

-- name: wake_host
-- Its sleeping queues: their owner looks at them with the new rule. One range of the index, with all hosts of the partition.
UPDATE queues SET due = :now WHERE id IN (SELECT id FROM queues INDEXED BY queues_due WHERE part = :part AND held = 0 AND due > :now AND due IS NOT NULL AND host = :host);

-- name: tokens
SELECT id, name, access, created_at, revoked_at FROM tokens ORDER BY id;

-- name: token
SELECT id, name, access, created_at, revoked_at FROM tokens WHERE digest = ? AND revoked_at IS NULL;

-- name: count_tokens
SELECT count(*) FROM tokens WHERE revoked_at IS NULL;

-- name: is_named
SELECT 1 FROM tokens WHERE name = ? AND revoked_at IS NULL;

-- name: add_token
INSERT INTO tokens(name, access, digest, created_at) VALUES (?, ?, ?, ?) RETURNING id, name, access, created_at, revoked_at;

-- name: revoke_token
UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL;

-- name: forget_revoked
-- The latest of those that were revoked stay in the list.
DELETE FROM tokens WHERE revoked_at IS NOT NULL AND id NOT IN (SELECT id FROM tokens WHERE revoked_at IS NOT NULL ORDER BY revoked_at DESC, id DESC LIMIT ?);

-- name: has_tokens
SELECT EXISTS(SELECT 1 FROM tokens WHERE revoked_at IS NULL);
