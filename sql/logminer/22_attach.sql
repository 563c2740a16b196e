-- The triggers of every user table.

-- The schemas that DM8 does not have, and those of its own users.
CREATE FUNCTION logminer.is_internal_schema(schema text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT schema IN ('logminer', 'dbms_logmnr', 'information_schema') OR schema LIKE 'pg\_%'
$$;
CREATE FUNCTION logminer.is_system_schema(schema text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT schema IN ('SYS', 'SYSSSO', 'SYSAUDITOR', 'SYSDBO', 'SYSDBAOPER', 'CTISYS', 'SYSJOB') OR logminer.is_internal_schema(schema)
$$;

CREATE FUNCTION logminer.is_logged(wanted oid) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.oid = wanted AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
                   AND NOT logminer.is_system_schema(n.nspname))
$$;

-- The name sorts before every other, so that a row's record precedes what other triggers do about the row.
CREATE FUNCTION logminer.attach(table_oid oid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
BEGIN
  IF NOT logminer.is_logged(table_oid) THEN
    RETURN;
  END IF;
  PERFORM logminer.new_version(table_oid);
  PERFORM logminer.write_trigger(table_oid);
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_oid AND tgname = '!logminer')
     AND to_regprocedure(format('logminer.%I()', 'log_' || table_oid)) IS NOT NULL THEN
    EXECUTE format('CREATE TRIGGER "!logminer" AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION logminer.%I()',
                   table_oid::regclass, 'log_' || table_oid);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_oid AND tgname = '!logminer_truncate') THEN
    EXECUTE format('CREATE TRIGGER "!logminer_truncate" AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION logminer.on_truncate()',
                   table_oid::regclass);
  END IF;
END $$;

-- What decides how rows are logged has changed.
CREATE FUNCTION logminer.rewrite_triggers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
BEGIN
  PERFORM logminer.write_trigger(table_oid) FROM logminer.table_version;
  RETURN NULL;
END $$;
CREATE TRIGGER rewrite AFTER UPDATE ON logminer.ini FOR EACH ROW
  WHEN (NEW.para_name IN ('RLOG_APPEND_LOGIC', 'RLOG_IGNORE_TABLE_SET', 'LOB_MAX_INROW_LEN') AND NEW.para_value <> OLD.para_value)
  EXECUTE FUNCTION logminer.rewrite_triggers();
CREATE TRIGGER rewrite AFTER UPDATE ON logminer.setting FOR EACH ROW
  WHEN (NEW.name IN ('lob', 'offset', 'virtual_column', 'partition_rows') AND NEW.value <> OLD.value) EXECUTE FUNCTION logminer.rewrite_triggers();
CREATE TRIGGER rewrite AFTER UPDATE OF logic_log ON logminer.table_version FOR EACH ROW EXECUTE FUNCTION logminer.rewrite_triggers();
