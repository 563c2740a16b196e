-- '' is NULL in what is stored (ora_input_emptystr_isnull, on by default in the Oracle mode), and DATE has no fraction of a second:
-- each table gets a row trigger of its own. In an expression '' stays '', since that is PostgreSQL's grammar.
CREATE FUNCTION kernel.shape_rows() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, sys_catalog AS $$
DECLARE
  relation record;
  body text;
BEGIN
  FOR relation IN
    SELECT DISTINCT c.oid, c.oid::regclass AS name, c.relispartition AS part FROM sys_event_trigger_ddl_commands() d JOIN sys_class c ON c.oid = d.objid
    WHERE d.classid = 'sys_class'::regclass AND c.relkind IN ('r', 'p')
  LOOP
    SELECT string_agg(CASE WHEN a.atttypid = 'sys.date'::regtype THEN format('NEW.%I := date_trunc(''second'', NEW.%1$I::timestamp);', a.attname)
                           ELSE format('IF NEW.%I = '''' THEN NEW.%1$I := NULL; END IF;', a.attname) END, ' ') INTO body
    FROM sys_attribute a JOIN sys_type t ON t.oid = a.atttypid
    WHERE a.attrelid = relation.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
      AND (t.typcategory = 'S' AND t.typtype = 'b' AND t.typname NOT IN ('name', 'char') OR a.atttypid = 'sys.date'::regtype);
    CONTINUE WHEN body IS NULL AND to_regproc(format('kernel.rows_%s', relation.oid)) IS NULL;
    EXECUTE format('CREATE OR REPLACE FUNCTION kernel.rows_%s() RETURNS trigger LANGUAGE plpgsql AS %L', relation.oid, format('BEGIN %s RETURN NEW; END', body));
    -- A partition has its root's; one that is attached keeps its own beside it.
    IF NOT relation.part AND NOT EXISTS (SELECT FROM sys_trigger WHERE tgrelid = relation.oid AND tgname = format('rows_%s', relation.oid)) THEN
      EXECUTE format('CREATE TRIGGER rows_%2$s BEFORE INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION kernel.rows_%2$s()', relation.name, relation.oid);
    END IF;
  END LOOP;
END $$;
CREATE EVENT TRIGGER face_rows ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE') EXECUTE FUNCTION kernel.shape_rows();
ALTER EVENT TRIGGER face_rows ENABLE ALWAYS;
