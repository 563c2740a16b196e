-- Only sys_ names, and none that a kernel of PostgreSQL 12 lacks.
\c :TIDEMARK_URL
CREATE FUNCTION pg_temp.state(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE command;
  RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
-- Whatever the way to say it, pg_ is unknown: 42883 a function, 42P01 a relation, 42704 a type.
SELECT kit.check(pg_temp.state(replace(q, '@', 'pg')) IN ('42883', '42P01') AND pg_temp.state(replace(q, '@', 'sys')) IN ('ok', '55000'), q) FROM (VALUES
  ('SELECT @_current_wal_lsn()'), ('SELECT @_current_wal_insert_lsn()'), ('SELECT @_current_wal_flush_lsn()'), ('SELECT @_is_in_recovery()'), ('SELECT @_backend_pid()'),
  ('SELECT @_partition_root(0)'), ('SELECT @_partition_tree(0)'), ('SELECT @_get_expr(NULL, 0)'), ('SELECT @_get_indexdef(0)'),
  ('SELECT @_relation_size(0)'), ('SELECT @_is_wal_replay_paused()'), ('SELECT @_cancel_backend(0)'),
  ('SELECT FROM @_class'), ('SELECT FROM @_attribute'), ('SELECT FROM @_namespace'), ('SELECT FROM @_index'), ('SELECT FROM @_constraint'), ('SELECT FROM @_inherits'),
  ('SELECT FROM @_proc'), ('SELECT FROM @_roles'), ('SELECT FROM @_database'), ('SELECT FROM @_replication_slots'), ('SELECT FROM @_publication'), ('SELECT FROM @_publication_tables'),
  ('SELECT FROM @_publication_rel'), ('SELECT FROM @_stat_activity'), ('SELECT FROM @_locks'), ('SELECT FROM @_prepared_xacts'), ('SELECT FROM @_settings'), ('SELECT FROM @_event_trigger'),
  ('SELECT FROM @_collation'), ('SELECT FROM @_enum'), ('SELECT FROM @_range')) v(q);
\c :PSQL
-- In sys_catalog too, where functions without the prefix are as well; qualified pg_catalog names are unknown.
SELECT kit.same(kit.outcome('SELECT ' || f), 'ok', f) FROM unnest(ARRAY['sys_catalog.sys_current_wal_lsn()', 'sys_catalog.txid_current()', 'sys_catalog.format_type(23, -1)',
  'sys_catalog.current_setting(''search_path'')', 'count(*) FROM sys_catalog.sys_class', 'txid_snapshot_xmin(txid_current_snapshot())', '''0/1''::pg_lsn', '''0/1''::sys_lsn']) f;
SELECT kit.check(kit.outcome('SELECT ' || f) LIKE '%does not exist', f) FROM unnest(ARRAY['pg_catalog.pg_current_wal_lsn()', 'count(*) FROM pg_catalog.pg_class', 'NULL::pg_class',
  'pg_catalog.pg_logical_slot_get_changes(''s'', NULL, NULL)', 'pg_create_logical_replication_slot(''s'', ''test_decoding'')', 'pg_current_snapshot()', 'sys_current_snapshot()',
  'sys_current_xact_id()', 'sys_visible_in_snapshot(NULL, NULL)', 'count(*) FROM sys_stat_replication_slots', 'wal_status FROM sys_replication_slots', 'pubviaroot FROM sys_publication',
  'attnames FROM sys_publication_tables']) f;
SELECT kit.same((SELECT count(*) FROM sys_proc WHERE proname LIKE 'pg\_%') + (SELECT count(*) FROM sys_class WHERE relname LIKE 'pg\_%' AND relkind IN ('r', 'v') AND relname <> 'pg_type'), 0::bigint, 'nothing has a pg_ name');
SELECT kit.same((SELECT count(*) FROM pg_catalog.pg_type), 0::bigint, 'what the driver finds: no type lo');
-- A name's number is PostgreSQL's own, and the server still keeps house.
SELECT kit.same('sys_class'::regclass::oid, 1259::oid, 'the number of a catalogue');
VACUUM ANALYZE;
SELECT kit.same(kit.outcome('SELECT count(*) FROM information_schema.columns'), 'ok', 'information_schema');

-- Version and settings.
SELECT kit.check(version() LIKE 'KingbaseES V008R006%' AND sys_catalog.version() = version(), 'version');
SELECT kit.same(current_setting('server_version_num'), '120001', 'server_version_num');
SELECT kit.same(setting, '120001', 'in the view') FROM sys_settings WHERE name = 'server_version_num';
SELECT kit.same(current_setting('wal_level'), 'logical', 'another setting');
SELECT kit.same(kit.outcome('SELECT current_setting(''logical_decoding_work_mem'')'), 'unrecognized configuration parameter "logical_decoding_work_mem"', 'a setting of 13');
SELECT kit.same(current_setting('logical_decoding_work_mem', true), NULL, 'a setting of 13, where it may be missing');

-- It outlives the server.
\! "$STAND_IN" kill "$STAND_IN_DIR" && "$STAND_IN" resume "$STAND_IN_DIR"
\c :PSQL
SELECT kit.check(kit.outcome('SELECT pg_current_wal_lsn()') LIKE '%does not exist' AND kit.outcome('SELECT sys_current_wal_lsn()') = 'ok', 'after a crash');

-- Over the driver of PostgreSQL, which asks for pg_type.
\set rows `printf 'SELECT sys_current_wal_lsn()\n' | isql -b -k "$ODBC" | grep -c '1 rows fetched'`
SELECT kit.same(:'rows', '1', 'psqlODBC');
