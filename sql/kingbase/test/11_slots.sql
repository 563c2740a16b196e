-- Slots as a connector uses them, by the connector's user; no pgoutput, no roots of partitions.
\c :PSQL
CREATE TABLE slot_rows(id int PRIMARY KEY, v varchar(10));
\c :TIDEMARK_URL
SELECT kit.same(kit.outcome('SELECT sys_create_logical_replication_slot(''s'', ''pgoutput'')'), 'could not access file "pgoutput": No such file or directory', 'pgoutput');
SELECT slot_name, lsn FROM sys_catalog.sys_create_logical_replication_slot('durable', 'test_decoding') \gset
SELECT kit.check(:'slot_name' = 'durable' AND :'lsn'::pg_lsn <= sys_current_wal_insert_lsn(), 'the new slot');
SELECT kit.same(kit.outcome('SELECT sys_create_logical_replication_slot(''s'', ''test_decoding'', false, true)'), 'function sys_create_logical_replication_slot(unknown, unknown, boolean, boolean) does not exist', 'two-phase decoding is of 14');
\c :PSQL
BEGIN; INSERT INTO slot_rows VALUES (1, 'a'), (2, ''); COMMIT;
\c :TIDEMARK_URL
SELECT 1 FROM sys_copy_logical_replication_slot('durable', 'reading', true);
SELECT kit.same(kit.outcome('SELECT sys_copy_logical_replication_slot(''durable'', ''other'', true, ''pgoutput'')'), 'could not access file "pgoutput": No such file or directory', 'a copy for pgoutput');
SELECT kit.same(string_agg(regexp_replace(data, '^(BEGIN|COMMIT) .*', '\1'), E'\n'), $$BEGIN
table public.slot_rows: INSERT: id[integer]:1 v[character varying]:'a'
table public.slot_rows: INSERT: id[integer]:2 v[character varying]:null
COMMIT$$, 'changes') FROM sys_logical_slot_get_changes('reading', NULL, 100, 'include-xids', 'true');
SELECT kit.same(count(*), 0::bigint, 'read once') FROM sys_logical_slot_get_changes('reading', NULL, NULL);
SELECT kit.same(count(*), 4::bigint, 'the durable one stays') FROM sys_logical_slot_peek_changes('durable', NULL, NULL);
SELECT kit.same(min(convert_from(data, 'UTF8')), 'BEGIN', 'texts as bytes') FROM sys_logical_slot_peek_binary_changes('durable', NULL, NULL, 'include-xids', 'false') WHERE convert_from(data, 'UTF8') LIKE 'BEGIN%';
SELECT kit.same(string_agg(concat_ws(' ', slot_name, plugin, temporary, active), ', ' ORDER BY slot_name), 'durable test_decoding f f, reading test_decoding t t', 'the view') FROM sys_replication_slots;
SELECT sys_current_wal_flush_lsn() AS here \gset
SELECT kit.same((sys_replication_slot_advance('durable', :'here')).end_lsn, :'here'::pg_lsn, 'advanced');
SELECT kit.same(count(*), 0::bigint, 'nothing behind it') FROM sys_logical_slot_peek_changes('durable', NULL, NULL);
SELECT sys_drop_replication_slot('durable');
\c :TIDEMARK_URL
SELECT kit.same(count(*), 0::bigint, 'a temporary slot ends with its session') FROM sys_replication_slots;
-- The user reads rows and makes none; a user without REPLICATION has no slot.
SELECT kit.same(count(*), 2::bigint, 'rows') FROM public.slot_rows;
SELECT kit.check(kit.outcome('INSERT INTO public.slot_rows VALUES (3)') LIKE 'permission denied%', 'no writing');
\c :PSQL
CREATE ROLE reader LOGIN PASSWORD 'reader';
GRANT USAGE ON SCHEMA kit TO reader;
SET ROLE reader;
SELECT kit.same(kit.outcome('SELECT sys_create_logical_replication_slot(''s'', ''test_decoding'')'), 'must be superuser or replication role to use replication slots', 'a user without REPLICATION');
RESET ROLE;

-- Publications.
CREATE TABLE slot_parts(id int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE slot_part PARTITION OF slot_parts DEFAULT;
CREATE PUBLICATION good FOR TABLE slot_rows, slot_part;
SELECT kit.same(string_agg(tablename, ' ' ORDER BY tablename), 'slot_part slot_rows', 'what it has') FROM sys_publication_tables WHERE pubname = 'good';
SELECT kit.same(kit.outcome(c), 'unrecognized publication parameter: "publish_via_partition_root"', c) FROM unnest(ARRAY[
  'CREATE PUBLICATION p FOR TABLE slot_rows WITH (publish_via_partition_root = true)', 'CREATE PUBLICATION p FOR TABLE slot_rows WITH (publish_via_partition_root = false)',
  'ALTER PUBLICATION good SET (publish_via_partition_root)']) c;
SELECT kit.same(kit.outcome('ALTER PUBLICATION good ADD TABLE slot_parts'), '"slot_parts" is a partitioned table', 'a root');
SELECT kit.same(kit.outcome('CREATE PUBLICATION p FOR TABLES IN SCHEMA public'), 'syntax error at or near "TABLES"', 'a schema');
SELECT kit.same(count(*), 1::bigint, 'nothing of what was refused') FROM sys_publication;
DROP PUBLICATION good;
DROP TABLE slot_rows, slot_parts;
DROP OWNED BY reader; DROP ROLE reader;
