-- The heartbeat of a worker: what it does, and what it takes of its machine.

ALTER TABLE workers ADD COLUMN pages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN pages_per_s REAL NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN cpu REAL NOT NULL DEFAULT 0;              -- cores in use
ALTER TABLE workers ADD COLUMN rss_bytes INTEGER NOT NULL DEFAULT 0;
