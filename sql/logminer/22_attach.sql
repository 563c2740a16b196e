-- Puts the row trigger on every user table when it is created or altered.

CREATE FUNCTION logminer.is_system_schema(schema text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT schema IN ('SYS', 'SYSSSO', 'SYSAUDITOR', 'SYSDBO', 'SYSDBAOPER', 'CTISYS', 'SYSJOB', 'logminer', 'dbms_logmnr',
                    'information_schema') OR schema LIKE 'pg\_%'
$$;

-- The name sorts before every other, so that a row's record precedes what other triggers do about the row.
CREATE FUNCTION logminer.attach(table_oid oid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.oid = table_oid AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
                   AND NOT logminer.is_system_schema(n.nspname)) THEN
    RETURN;
  END IF;
  PERFORM logminer.write_trigger(table_oid);
  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_oid AND tgname = '!logminer')
     AND to_regprocedure(format('logminer.%I()', 'log_' || table_oid)) IS NOT NULL THEN
    EXECUTE format('CREATE TRIGGER "!logminer" AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION logminer.%I()',
                   table_oid::regclass, 'log_' || table_oid);
  END IF;
END $$;

CREATE FUNCTION logminer.on_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  command record;
BEGIN
  FOR command IN
    SELECT DISTINCT ON (objid) objid FROM pg_event_trigger_ddl_commands()
    WHERE classid = 'pg_class'::regclass AND object_type IN ('table', 'table column')
  LOOP
    PERFORM logminer.attach(command.objid);
  END LOOP;
END $$;

CREATE FUNCTION logminer.on_drop() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  gone record;
BEGIN
  FOR gone IN SELECT objid FROM pg_event_trigger_dropped_objects() WHERE object_type = 'table' LOOP
    IF to_regprocedure(format('logminer.%I()', 'log_' || gone.objid)) IS NOT NULL THEN
      EXECUTE format('DROP FUNCTION logminer.%I()', 'log_' || gone.objid);
    END IF;
  END LOOP;
END $$;

CREATE EVENT TRIGGER logminer_ddl ON ddl_command_end
  WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE')
  EXECUTE FUNCTION logminer.on_ddl();
CREATE EVENT TRIGGER logminer_drop ON sql_drop
  WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA', 'DROP OWNED')
  EXECUTE FUNCTION logminer.on_drop();

-- Tables that were there before.
DO $$
BEGIN
  PERFORM logminer.attach(oid) FROM pg_class WHERE relkind IN ('r', 'p');
END $$;
