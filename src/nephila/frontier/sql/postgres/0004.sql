-- Tries that a rate limit (429) answered and that do not count: `tries` has them, too.

ALTER TABLE frontier ADD COLUMN limited smallint NOT NULL DEFAULT 0;
