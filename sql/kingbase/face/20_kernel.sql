-- A kernel of PostgreSQL 12 (a dump of a KingbaseES database says "database version 12.1"), without pgoutput.
CREATE DOMAIN sys_catalog.sys_lsn AS pg_lsn;

-- Hides a relation of sys_catalog, and its type, behind a view to come.
CREATE PROCEDURE kernel.take(relation name) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sys_class SET relname = relation, relnamespace = 'kernel'::regnamespace WHERE oid = ('sys_catalog.sys_' || relation)::regclass;
  UPDATE sys_type SET typname = relation, typnamespace = 'kernel'::regnamespace WHERE typrelid = ('kernel.' || relation)::regclass;
END $$;

-- Slots: no two-phase decoding, and the plugins of tis#408.
CREATE FUNCTION kernel.plugin(name name) RETURNS name LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF name = 'pgoutput' THEN
    RAISE EXCEPTION USING ERRCODE = 'undefined_file', MESSAGE = 'could not access file "pgoutput": No such file or directory';
  END IF;
  RETURN name;
END $$;
UPDATE sys_proc SET proname = 'create_slot', pronamespace = 'kernel'::regnamespace
  WHERE proname = 'sys_create_logical_replication_slot' AND pronamespace = 'sys_catalog'::regnamespace;
UPDATE sys_proc SET proname = 'copy_slot', pronamespace = 'kernel'::regnamespace
  WHERE proname = 'sys_copy_logical_replication_slot' AND pronamespace = 'sys_catalog'::regnamespace AND pronargs = 4;
CREATE FUNCTION sys_catalog.sys_create_logical_replication_slot(slot_name name, plugin name, temporary boolean DEFAULT false, OUT slot_name name, OUT lsn pg_lsn)
LANGUAGE sql STRICT AS $$ SELECT * FROM kernel.create_slot($1, kernel.plugin($2), $3, false) $$;
CREATE FUNCTION sys_catalog.sys_copy_logical_replication_slot(src_slot_name name, dst_slot_name name, temporary boolean, plugin name, OUT slot_name name, OUT lsn pg_lsn)
LANGUAGE sql STRICT AS $$ SELECT * FROM kernel.copy_slot($1, $2, $3, kernel.plugin($4)) $$;
CALL kernel.take('replication_slots');
CREATE VIEW sys_catalog.sys_replication_slots AS
  SELECT slot_name, plugin, slot_type, datoid, database, temporary, active, active_pid, xmin, catalog_xmin, restart_lsn, confirmed_flush_lsn
  FROM kernel.replication_slots;

-- Publications: not of a partitioned table, nothing about roots.
CALL kernel.take('publication');
CALL kernel.take('publication_tables');
CALL kernel.take('settings');
CREATE VIEW sys_catalog.sys_publication AS
  SELECT oid, pubname, pubowner, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate FROM kernel.publication;
CREATE VIEW sys_catalog.sys_publication_tables AS SELECT pubname, schemaname, tablename FROM kernel.publication_tables;
CREATE FUNCTION kernel.check_publication() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
  partitioned name;
BEGIN
  IF current_query() ~* 'publish_via_partition_root' OR EXISTS (SELECT FROM kernel.publication WHERE pubviaroot) THEN
    RAISE EXCEPTION USING ERRCODE = 'syntax_error', MESSAGE = 'unrecognized publication parameter: "publish_via_partition_root"';
  END IF;
  SELECT c.relname INTO partitioned FROM sys_catalog.sys_publication_rel r JOIN sys_catalog.sys_class c ON c.oid = r.prrelid WHERE c.relkind = 'p' LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('"%s" is a partitioned table', partitioned),
      DETAIL = 'Adding partitioned tables to publications is not supported.', HINT = 'You can add the table partitions individually.';
  END IF;
  IF EXISTS (SELECT FROM kernel.sys_publication_namespace) THEN
    RAISE EXCEPTION USING ERRCODE = 'syntax_error', MESSAGE = 'syntax error at or near "TABLES"';
  END IF;
END $$;
CREATE EVENT TRIGGER face_publication ON ddl_command_end WHEN TAG IN ('CREATE PUBLICATION', 'ALTER PUBLICATION') EXECUTE FUNCTION kernel.check_publication();

-- Settings and version. SHOW and SET cannot be taught.
UPDATE sys_proc SET pronamespace = 'kernel'::regnamespace WHERE proname IN ('version', 'current_setting') AND pronamespace = 'pg_catalog'::regnamespace;
DELETE FROM sys_proc WHERE proname IN ('version', 'current_setting') AND pronamespace = 'sys_catalog'::regnamespace;
CREATE FUNCTION kernel.setting(name text, missing_ok boolean) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  CASE lower(name)
    WHEN 'server_version' THEN RETURN '12.1';
    WHEN 'server_version_num' THEN RETURN '120001';
    WHEN 'logical_decoding_work_mem', 'max_slot_wal_keep_size', 'wal_keep_size' THEN
      IF missing_ok THEN
        RETURN NULL;
      END IF;
      RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('unrecognized configuration parameter "%s"', name);
    ELSE RETURN kernel.current_setting(name, missing_ok);
  END CASE;
END $$;
CREATE FUNCTION kernel.version_text() RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'KingbaseES V008R006C008B0014 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 4.1.2 20080704 (Red Hat 4.1.2-46), 64-bit'
$$;
DO $$
DECLARE
  place text;
BEGIN
  FOREACH place IN ARRAY ARRAY['pg_catalog', 'sys_catalog'] LOOP
    EXECUTE format('CREATE FUNCTION %I.version() RETURNS text LANGUAGE sql STABLE RETURN kernel.version_text()', place);
    EXECUTE format('CREATE FUNCTION %I.current_setting(text) RETURNS text LANGUAGE sql STABLE STRICT RETURN kernel.setting($1, false)', place);
    EXECUTE format('CREATE FUNCTION %I.current_setting(text, boolean) RETURNS text LANGUAGE sql STABLE STRICT RETURN kernel.setting($1, $2)', place);
  END LOOP;
END $$;
CREATE VIEW sys_catalog.sys_settings AS
  SELECT name, CASE name WHEN 'server_version' THEN '12.1' WHEN 'server_version_num' THEN '120001' ELSE setting END AS setting, unit, category, short_desc,
    extra_desc, context, vartype, source, min_val, max_val, enumvals, boot_val, reset_val, sourcefile, sourceline, pending_restart
  FROM kernel.settings WHERE name NOT IN ('logical_decoding_work_mem', 'max_slot_wal_keep_size', 'wal_keep_size');

-- psqlODBC asks while it connects which type is named lo, and gives up on an error. This answers that question and no other.
CREATE VIEW pg_catalog.pg_type AS SELECT oid, typbasetype, typname FROM sys_catalog.sys_type WHERE typname = 'lo';
GRANT SELECT ON pg_catalog.pg_type TO PUBLIC;
