-- What changed, for readers who follow a crawl (docs/decisions/0015-what-one-look-proves.md): ids of URLs, at most 1024 in an entry.
-- Writers take turns here, so numbers are committed in their order.

CREATE TABLE changes(
  crawl INTEGER NOT NULL, number INTEGER NOT NULL,
  ended INTEGER NOT NULL,                    -- else they were found, or are tried again
  first INTEGER, last INTEGER,               -- of URLs that were found: one insert gives ids in a row
  urls TEXT,                                 -- of all others: JSON array
  PRIMARY KEY(crawl, number)
) WITHOUT ROWID;

INSERT INTO changes(crawl, number, ended, urls)
SELECT crawl, row_number() OVER (PARTITION BY crawl ORDER BY id / 1024, state = 0), NOT state = 0, json_group_array(id)
FROM urls GROUP BY crawl, id / 1024, state = 0;

-- What workers did lately, in slots of 5 s: rows of each session alone, so that none is hot. Upkeep forgets those of more than an hour ago.
CREATE TABLE throughput(slot INTEGER NOT NULL, worker INTEGER NOT NULL, pages INTEGER NOT NULL, errors INTEGER NOT NULL, PRIMARY KEY(slot, worker)) WITHOUT ROWID;

-- Bytes a second, as the heartbeat tells them.
ALTER TABLE workers ADD COLUMN received_per_s REAL NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN sent_per_s REAL NOT NULL DEFAULT 0;
