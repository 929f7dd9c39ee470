-- The address as it was found, where it is not the URL that identifies the row: what the server is asked for.

ALTER TABLE urls ADD COLUMN spelling text;
