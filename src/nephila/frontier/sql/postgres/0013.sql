-- What sitemaps say of the URLs that they list: the first sitemap that lists a URL counts. `urls` of these ids are of the same crawl.

CREATE TABLE sitemap_entries(crawl integer NOT NULL, url bigint NOT NULL, sitemap bigint NOT NULL, lastmod bigint, priority real, notes text, PRIMARY KEY(crawl, url));
