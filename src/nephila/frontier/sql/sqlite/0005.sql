-- Tries that a rate limit (429) answered and that do not count: `tries` has them, too.

ALTER TABLE urls ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;
