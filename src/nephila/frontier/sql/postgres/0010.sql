-- Refused links by the rule that refuses them, and some of them as examples: about EXAMPLES_EACH of a host, reason and rule.

CREATE TABLE refused_rules(crawl integer NOT NULL, worker integer NOT NULL, reason text NOT NULL, rule text NOT NULL, n bigint NOT NULL,
  PRIMARY KEY(crawl, worker, reason, rule)) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);
CREATE TABLE refused_links(crawl integer NOT NULL, reason text NOT NULL, rule text NOT NULL, host text NOT NULL, url text NOT NULL, found_on bigint,
  PRIMARY KEY(crawl, reason, rule, host, url));
