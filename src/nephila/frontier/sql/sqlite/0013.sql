-- What people call a crawl: a name, and labels to find it by. Neither is part of what makes it the same crawl.

ALTER TABLE crawls ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE crawls ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';  -- JSON array, sorted
