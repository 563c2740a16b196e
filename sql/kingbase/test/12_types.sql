-- Types of the Oracle mode by their names, in the catalogue, in values and in the log.
SELECT 1 FROM sys_create_logical_replication_slot('types', 'test_decoding');
CREATE TABLE types(id number(10) PRIMARY KEY, n number, p number(12,2), v varchar2(5), w nvarchar2(5), c clob, l nclob, b blob, r raw, d date, i tinyint, f binary_float, g binary_double);
SELECT kit.same(string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum), 'number(10,0) number number(12,2) varchar2(5) nvarchar2(5) clob nclob blob raw date tinyint binary_float binary_double', 'names')
FROM sys_attribute WHERE attrelid = 'types'::regclass AND attnum > 0;
SELECT kit.check(bool_and(t.typtype = 'b' AND n.nspname = 'sys' AND t.oid >= 16384), 'types of their own')
FROM sys_attribute a JOIN sys_type t ON t.oid = a.atttypid JOIN sys_namespace n ON n.oid = t.typnamespace WHERE attrelid = 'types'::regclass AND attnum > 0;
INSERT INTO types VALUES (1, 1.50, 2.555, 'a', '北京', 'clob', 'nclob', '\x00ff', '\x01', timestamp '2024-02-29 10:11:12.7', 3, 1.5, 2.5);
INSERT INTO types(id, p, d) VALUES (2, -7, now()), (12, 1e10 - 0.01, NULL);
SELECT kit.same(kit.outcome('INSERT INTO types(id, v) VALUES (3, ''toolong'')'), 'value too long for type character varying(5)', 'a length');
SELECT kit.check(kit.outcome('INSERT INTO types(id, p) VALUES (3, 1e11)') LIKE 'numeric field overflow', 'a precision');
-- As rows are asked for by key, and in key order.
SELECT kit.same(string_agg(id::text, ' ' ORDER BY id), '1 2 12', 'numbers order as numbers') FROM types;
SELECT kit.same(string_agg(id::text, ' ' ORDER BY id), '2', 'bounds') FROM types WHERE id > 1 AND id <= 11.5;
SELECT kit.same(id::text, '1', 'as text') FROM types WHERE v = 'a' AND d < timestamp '2024-03-01' AND c LIKE 'cl%';
SET enable_seqscan = off; SET enable_bitmapscan = off;
CREATE FUNCTION pg_temp.plan(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  line text;
  plan text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN ' || q LOOP
    plan := plan || line;
  END LOOP;
  RETURN plan;
END $$;
SELECT kit.check(pg_temp.plan('SELECT * FROM types WHERE id = 1') LIKE '%Index Scan%', 'the key''s index serves');
SELECT kit.same(regexp_replace(data, '.*INSERT: ', ''), $$id[number]:'1' n[number]:'1.50' p[number]:'2.56' v[varchar2]:'a' w[nvarchar2]:'北京' c[clob]:'clob' l[nclob]:'nclob' b[blob]:'\x00ff' r[raw]:'\x01' d[date]:'2024-02-29 10:11:12' i[tinyint]:'3' f[binary_float]:'1.5' g[binary_double]:'2.5'$$, 'in the log')
FROM sys_logical_slot_peek_changes('types', NULL, NULL) WHERE data LIKE '%id[number]:''1'' %';

-- '' is NULL wherever it is stored; DATE has whole seconds.
INSERT INTO types(id, v, w, c) VALUES (20, '', '', ''), (21, 'x', 'x', 'x');
UPDATE types SET v = '', c = '' WHERE id = 21;
COPY types(id, v, c, d) FROM STDIN (FORMAT csv);
22,"","",2024-01-01 00:00:00.9
\.
SELECT kit.check(bool_and(v IS NULL AND c IS NULL) AND count(*) = 3 AND max(d)::text = '2024-01-01 00:00:00', 'stored') FROM types WHERE id >= 20;
CREATE TABLE plain_types(id int PRIMARY KEY, v varchar(5) NOT NULL, t text, c char(3));
SELECT kit.check(kit.outcome('INSERT INTO plain_types VALUES (1, '''')') LIKE 'null value in column "v"%', '''''  into NOT NULL');
INSERT INTO plain_types VALUES (1, 'x', '', '');
SELECT kit.check(t IS NULL AND c IS NULL, 'PostgreSQL''s own names') FROM plain_types;
-- Columns that come later, tables made from rows, partitions.
ALTER TABLE plain_types ADD COLUMN z text;
UPDATE plain_types SET z = '';
ALTER TABLE plain_types DROP COLUMN t;
UPDATE plain_types SET v = 'y';
ALTER TABLE plain_types RENAME COLUMN z TO zz;
INSERT INTO plain_types VALUES (2, 'x', 'c', '');
SELECT kit.check(bool_and(zz IS NULL), 'altered') FROM plain_types;
CREATE TABLE empty_parts(id int, v varchar2(5)) PARTITION BY RANGE (id);
CREATE TABLE empty_part PARTITION OF empty_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE empty_more(id int, v varchar2(5));
ALTER TABLE empty_parts ATTACH PARTITION empty_more DEFAULT;
INSERT INTO empty_parts VALUES (1, ''), (11, '');
INSERT INTO empty_part VALUES (2, '');
SELECT kit.check(bool_and(v IS NULL) AND count(*) = 3, 'partitions') FROM empty_parts;
SELECT sys_drop_replication_slot('types');
DROP TABLE types, plain_types, empty_parts;
