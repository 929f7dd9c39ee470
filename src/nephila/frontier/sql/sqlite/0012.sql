-- How crawls went: samples of their counts, in a bounded number (frontier/history.py).

CREATE TABLE history(crawl INTEGER NOT NULL, at INTEGER NOT NULL, answered INTEGER NOT NULL, ended INTEGER NOT NULL, queued INTEGER NOT NULL, failed INTEGER NOT NULL,
  PRIMARY KEY(crawl, at)) WITHOUT ROWID;
CREATE TABLE histories(crawl INTEGER PRIMARY KEY, step_ms INTEGER NOT NULL, sampled_at INTEGER NOT NULL);  -- whoever changes a row takes the sample
