-- The time of the store, which never goes back: store_clock.py. One row.
CREATE TABLE store_clock(
  offset_ms bigint NOT NULL,                 -- what is added to the clock of the server
  seen_at bigint NOT NULL                    -- the latest time that was noted
) WITH (fillfactor = 20);
INSERT INTO store_clock SELECT 0, coalesce(max(seen_at), 0) FROM workers;

-- The time of the store by this clock: StoreClock.now.
CREATE FUNCTION store_time(clock bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest(clock + offset_ms - CASE WHEN clock + offset_ms - seen_at > 60000 THEN least(offset_ms, clock + offset_ms - seen_at) ELSE 0 END, seen_at)
  FROM store_clock
$$;
