-- Refused links by the rule that refuses them, and some of them as examples: up to EXAMPLES_EACH of a host, reason and rule.

CREATE TABLE refused_rules(crawl INTEGER NOT NULL, reason TEXT NOT NULL, rule TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(crawl, reason, rule)) WITHOUT ROWID;
CREATE TABLE refused_links(crawl INTEGER NOT NULL, reason TEXT NOT NULL, rule TEXT NOT NULL, host TEXT NOT NULL, url TEXT NOT NULL, found_on INTEGER,
  PRIMARY KEY(crawl, reason, rule, host, url)) WITHOUT ROWID;
