-- People by how often they came, then the kinds of people; the order of the first is of no use to the second.
CREATE TABLE kinds(kind INTEGER PRIMARY KEY, label TEXT);
INSERT INTO kinds VALUES (0, 'guest'), (1, 'member'), (2, 'staff');
CREATE TABLE visits(person INTEGER, kind INTEGER, minutes INTEGER);
INSERT INTO visits
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
  SELECT i % 300000, i % 300000 % 3, i * 7919 % 1000 FROM n;
CREATE VIEW frequent AS
  SELECT person, kind, count(*) AS times, 'person number ' || (person * 7919 % 1000003) AS name
  FROM visits GROUP BY person ORDER BY name DESC;
SELECT label, count(*), max(times) FROM frequent JOIN kinds USING (kind) GROUP BY label;
