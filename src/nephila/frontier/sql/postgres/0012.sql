-- What people call a crawl: a name, and labels to find it by. Neither is part of what makes it the same crawl.

ALTER TABLE crawls ADD COLUMN name text NOT NULL DEFAULT '', ADD COLUMN labels text[] NOT NULL DEFAULT '{}';  -- sorted
