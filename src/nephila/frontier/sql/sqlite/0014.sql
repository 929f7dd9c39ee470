-- What sitemaps say of the URLs that they list: the first sitemap that lists a URL counts. `urls` of these ids are of the same crawl.

CREATE TABLE sitemap_entries(crawl INTEGER NOT NULL, url INTEGER NOT NULL, sitemap INTEGER NOT NULL, lastmod INTEGER, priority REAL, notes TEXT,
  PRIMARY KEY(crawl, url)) WITHOUT ROWID;
