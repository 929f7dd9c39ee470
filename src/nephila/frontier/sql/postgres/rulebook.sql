-- What operators decide while crawls run. Every change moves the control version.
-- Changes take turns by an advisory lock; behind it the order of locks is that of upkeep.sql: queues, then control.

-- name: take_turn
SELECT pg_advisory_xact_lock(5129554);  -- a number of our own: "NER"

-- name: blocks
SELECT id, kind, value, reason, created_by, created_at FROM blocks ORDER BY id;

-- name: host_rules
SELECT host, delay_ms, blocked_until, reason, created_by, created_at FROM host_rules;

-- name: floor
SELECT floor_ms FROM control;

-- name: set_floor
UPDATE control SET floor_ms = %(floor_ms)s;

-- name: count_blocks
SELECT count(*) FROM blocks;

-- name: add_blocks
INSERT INTO blocks(kind, value, reason, created_by, created_at)
SELECT %(kind)s, value, %(reason)s, %(by)s, %(now)s FROM unnest(%(values)s::text[]) WITH ORDINALITY AS new(value, position) ORDER BY position
ON CONFLICT DO NOTHING;

-- name: blocks_of
SELECT b.id, b.kind, b.value, b.reason, b.created_by, b.created_at FROM unnest(%(values)s::text[]) WITH ORDINALITY AS wanted(value, position)
JOIN blocks b ON b.kind = %(kind)s AND md5(b.value) = md5(wanted.value) ORDER BY wanted.position;

-- name: remove_block
DELETE FROM blocks WHERE id = %(id)s;

-- name: count_host_rules
SELECT count(*) FROM host_rules;

-- name: set_host
INSERT INTO host_rules(host, delay_ms, blocked_until, reason, created_by, created_at) VALUES (%(host)s, %(delay_ms)s, %(until)s, %(reason)s, %(by)s, %(now)s)
ON CONFLICT (host) DO UPDATE SET delay_ms = excluded.delay_ms, blocked_until = excluded.blocked_until,
  reason = excluded.reason, created_by = excluded.created_by, created_at = excluded.created_at;

-- name: clear_host
DELETE FROM host_rules WHERE host = %(host)s;

-- name: wake_host
-- Wakes the host's sleeping queues: their owner looks at them with the new rule. One range of queues_due, with all hosts of the partition.
UPDATE queues SET due = %(now)s WHERE id IN (SELECT id FROM queues
  WHERE part = %(part)s AND held = 0 AND due IS NOT NULL AND due > %(now)s AND host = %(host)s ORDER BY id FOR UPDATE);
