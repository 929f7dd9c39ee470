-- How crawls went: samples of their counts, in a bounded number (frontier/history.py).

CREATE TABLE history(crawl integer NOT NULL, at bigint NOT NULL, answered bigint NOT NULL, ended bigint NOT NULL, queued bigint NOT NULL, failed bigint NOT NULL,
  PRIMARY KEY(crawl, at));
CREATE TABLE histories(crawl integer PRIMARY KEY, step_ms bigint NOT NULL, sampled_at bigint NOT NULL) WITH (fillfactor = 50);  -- whoever changes a row takes the sample
