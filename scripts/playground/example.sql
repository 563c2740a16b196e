-- make playground FILE=scripts/playground/example.sql: a table as it is, read and counted.
SELECT CITY, COUNT(*) AS customers FROM customers /*+ OPTIONS('scan.startup.mode' = 'snapshot') */ GROUP BY CITY;
