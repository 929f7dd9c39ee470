-- What changed, for readers who follow a crawl (docs/decisions/0015-what-one-look-proves.md): ids of URLs, at most 1024 in an entry.
-- Numbers are drawn by many writers at once; the lowest that a writer may still commit is told by its lock (worker.sql, fence).

CREATE SEQUENCE change_numbers MINVALUE 0;
SELECT nextval('change_numbers');            -- the first number drawn is above last_value, as all others

CREATE TABLE changes(
  crawl integer NOT NULL, number bigint NOT NULL DEFAULT nextval('change_numbers'),
  ended boolean NOT NULL,                    -- else they were found, or are tried again
  urls bigint[] NOT NULL,
  PRIMARY KEY(crawl, number)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2);
ALTER TABLE changes ALTER COLUMN urls SET STORAGE EXTERNAL;  -- compressing takes longer than writing

INSERT INTO changes(crawl, ended, urls)
SELECT crawl, ended, array_agg(id ORDER BY id) FROM (SELECT u.crawl, u.id, EXISTS(SELECT FROM pages p WHERE p.url = u.id) AS ended FROM urls u) known
GROUP BY crawl, id >> 10, ended ORDER BY crawl, id >> 10, ended DESC;

-- What workers did lately, in slots of 5 s: rows of each session alone, so that none is hot. Upkeep forgets those of more than an hour ago.
CREATE TABLE throughput(slot bigint NOT NULL, worker integer NOT NULL, pages bigint NOT NULL, errors bigint NOT NULL, PRIMARY KEY(slot, worker)) WITH (fillfactor = 50);

-- Bytes a second, as the heartbeat tells them.
ALTER TABLE workers ADD COLUMN received_per_s real NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN sent_per_s real NOT NULL DEFAULT 0;
