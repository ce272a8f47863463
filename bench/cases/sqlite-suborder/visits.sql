-- Visits by the names of those who came, then the kinds of people; the order of the first is of no use to the second.
CREATE TABLE kinds(kind INTEGER PRIMARY KEY, label TEXT);
INSERT INTO kinds VALUES (0, 'guest'), (1, 'member'), (2, 'staff');
CREATE TABLE visits(person INTEGER, kind INTEGER, minutes INTEGER);
INSERT INTO visits
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250000)
  SELECT i % 100000, i % 100000 % 3, i * 7919 % 1000 FROM n;
CREATE VIEW list AS
  SELECT kind, minutes, 'person number ' || (person * 7919 % 1000003) AS name FROM visits ORDER BY name;
SELECT label, count(*), max(minutes) FROM list JOIN kinds USING (kind) GROUP BY label;
SELECT label, count(*) FROM list JOIN kinds USING (kind) WHERE minutes > 100 GROUP BY label;
SELECT label, min(minutes) FROM list JOIN kinds USING (kind) WHERE minutes > 10 GROUP BY label;
