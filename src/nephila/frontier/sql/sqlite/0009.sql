-- The time of the store, which never goes back: store_clock.py. One row.
CREATE TABLE store_clock(
  offset_ms INTEGER NOT NULL,                -- what is added to the clock of the machine
  seen_at INTEGER NOT NULL                   -- the latest time that was noted
);
INSERT INTO store_clock SELECT 0, coalesce(max(seen_at), 0) FROM workers;
