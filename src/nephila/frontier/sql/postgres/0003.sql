-- Whoever follows the archive (the search index) finds the rows of a stretch of a file.

CREATE INDEX pages_place ON pages(file, "offset") WHERE file IS NOT NULL;
