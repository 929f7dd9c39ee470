-- Tallies that statistics need, of the crawls that are there already: hosts with URLs, and the depth of the deepest page.

INSERT INTO tallies SELECT crawl, 0, 'hosts', count(*) FROM queues q WHERE EXISTS(SELECT 1 FROM urls u WHERE u.queue = q.id) GROUP BY crawl;
INSERT INTO tallies SELECT crawl, 0, 'depth_max', max(depth) FROM urls WHERE kind = 0 GROUP BY crawl;

-- What document 000 shows of a run: the seed as it was sent, and the hosts that its scope names (JSON array; NULL: made by an older version).

ALTER TABLE crawls ADD COLUMN seed_sent TEXT NOT NULL DEFAULT '';
ALTER TABLE crawls ADD COLUMN allowed_hosts TEXT;

-- When a URL was found, tried again or ended; 0: by an older version.

ALTER TABLE urls ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
