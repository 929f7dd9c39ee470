-- Tallies by depth, status and content type, of the crawls that are there already. The names are those of models.py: `depth_tally` and its like.

INSERT INTO tallies SELECT crawl, 0, 'depth:' || iif(depth < 1000, depth, 'deeper'), count(*) FROM urls WHERE kind = 0 GROUP BY 1, 3;
INSERT INTO tallies SELECT u.crawl, 0, 'status:' || p.status, count(*) FROM pages p CROSS JOIN urls u ON u.id = p.url WHERE p.status IS NOT NULL GROUP BY 1, 3;
WITH headed AS (SELECT u.crawl, replace(coalesce(p.content_type, ''), ',', ';') || ';' AS header FROM pages p CROSS JOIN urls u ON u.id = p.url WHERE p.status IS NOT NULL),
  typed AS (SELECT crawl, lower(trim(substr(header, 1, instr(header, ';') - 1))) AS type, count(*) AS n FROM headed GROUP BY 1, 2),
  ranked AS (SELECT crawl, n, CASE WHEN type = '' THEN 'none' WHEN length(type) > 100 OR type GLOB '*[^a-z0-9!#$&^_.+/-]*'
    OR row_number() OVER (PARTITION BY crawl ORDER BY n DESC, type) > 50 THEN 'other' ELSE type END AS name FROM typed)
INSERT INTO tallies SELECT crawl, 0, 'type:' || name, sum(n) FROM ranked GROUP BY 1, 3;
