-- What operators decide while crawls run. Every change moves the control version.

-- name: take_turn
-- Writers take turns already.
SELECT 1;

-- name: blocks
SELECT id, kind, value, reason, created_by, created_at FROM blocks ORDER BY id;

-- name: host_rules
SELECT host, delay_ms, blocked_until, reason, created_by, created_at FROM host_rules;

-- name: floor
SELECT floor_ms FROM control;

-- name: set_floor
UPDATE control SET floor_ms = :floor_ms;

-- name: count_blocks
SELECT count(*) FROM blocks;

-- name: add_blocks
INSERT INTO blocks(kind, value, reason, created_by, created_at)
SELECT :kind, value, :reason, :by, :now FROM json_each(:values) WHERE true ON CONFLICT DO NOTHING;

-- name: blocks_of
SELECT b.id, b.kind, b.value, b.reason, b.created_by, b.created_at FROM json_each(:values) wanted
CROSS JOIN blocks b ON b.kind = :kind AND b.value = wanted.value ORDER BY wanted.key;

-- name: remove_block
DELETE FROM blocks WHERE id = :id;

-- name: count_host_rules
SELECT count(*) FROM host_rules;

-- name: set_host
INSERT INTO host_rules(host, delay_ms, blocked_until, reason, created_by, created_at) VALUES (:host, :delay_ms, :until, :reason, :by, :now)
ON CONFLICT DO UPDATE SET delay_ms = excluded.delay_ms, blocked_until = excluded.blocked_until,
  reason = excluded.reason, created_by = excluded.created_by, created_at = excluded.created_at;

-- name: clear_host
DELETE FROM host_rules WHERE host = :host;

-- name: wake_host
-- Wakes the host's sleeping queues: their owner looks at them with the new rule. One range of the index, with all hosts of the partition.
UPDATE queues SET due = :now WHERE id IN (SELECT id FROM queues INDEXED BY queues_due WHERE part = :part AND held = 0 AND due > :now AND due IS NOT NULL AND host = :host);
