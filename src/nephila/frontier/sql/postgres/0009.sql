-- Tallies by depth, status and content type, of the crawls that are there already. The names are those of models.py: `depth_tally` and its like.

INSERT INTO tallies(crawl, worker, name, n)
SELECT crawl, 0, 'depth:' || CASE WHEN depth < 1000 THEN depth::text ELSE 'deeper' END, count(*) FROM urls WHERE kind = 0 GROUP BY 1, 3;
INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, 0, 'status:' || status, count(*) FROM pages WHERE status IS NOT NULL GROUP BY 1, 3;
WITH typed AS (SELECT crawl, lower(trim(split_part(replace(coalesce(content_type, ''), ',', ';'), ';', 1))) AS type, count(*) AS n FROM pages WHERE status IS NOT NULL GROUP BY 1, 2),
  ranked AS (SELECT crawl, n, CASE WHEN type = '' THEN 'none' WHEN type !~ '^[a-z0-9!#$&^_.+/-]{1,100}$'
    OR row_number() OVER (PARTITION BY crawl ORDER BY n DESC, type) > 50 THEN 'other' ELSE type END AS name FROM typed)
INSERT INTO tallies(crawl, worker, name, n) SELECT crawl, 0, 'type:' || name, sum(n) FROM ranked GROUP BY 1, 3;
