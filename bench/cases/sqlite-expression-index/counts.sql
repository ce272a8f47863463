-- Articles that are found by their names in three spellings; only a number of theirs changes.
CREATE TABLE articles(id INTEGER PRIMARY KEY, name TEXT, sold INTEGER);
INSERT INTO articles
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
  SELECT i, 'Article ' || (i * 7919 % 1000003), 0 FROM n;
CREATE INDEX by_lower ON articles(lower(name));
CREATE INDEX by_length ON articles(length(name));
CREATE INDEX by_end ON articles(substr(name, -6));
UPDATE articles SET sold = sold + id % 7;
UPDATE articles SET sold = sold + 1 WHERE id % 2;
UPDATE articles SET sold = sold + id % 3;
UPDATE articles SET sold = sold + 1 WHERE id % 3;
UPDATE articles SET sold = sold + id % 5;
SELECT sum(sold), count(DISTINCT lower(name)) FROM articles;
