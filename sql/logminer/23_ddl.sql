-- DDL: every table made or altered gets its triggers and a version; where the lever `ddl` is on, the statement leaves a
-- row of operation 5 with its text as typed (measured on DM8; so are the START and COMMIT of its own around it: here the
-- transaction is PostgreSQL's, since PostgreSQL's DDL does not commit).

-- The statements of a query string.
CREATE FUNCTION logminer.statements(query text, OUT place bigint, OUT statement text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE AS $$
  SELECT number, btrim(string_agg(token, '' ORDER BY place) FILTER (WHERE token <> ';'), E' \t\r\n')
  FROM (SELECT m[1] AS token, place, count(*) FILTER (WHERE m[1] = ';') OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) + (m[1] <> ';')::int AS number
        FROM regexp_matches(query,
          '(''(?:[^'']|'''')*''|"(?:[^"]|"")*"|\$\$(?:[^$]|\$[^$])*\$\$|--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/|;|[^;''"$/-]+|.)', 'g')
          WITH ORDINALITY r(m, place)) t
  GROUP BY number
$$;

-- The text of the statement that is running: `context` is PL/pgSQL's, which names a statement run from within a function;
-- else it is the next one of the client's query with this tag and this name in it.
CREATE FUNCTION logminer.statement_text(context text, tag text, name text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  inner_text text := (regexp_match(context, '^[^\n]*\nSQL statement "(.*?)"\nPL/pgSQL function'))[1];
  key text := extract(epoch FROM statement_timestamp())::text;
  last text := current_setting('logminer.statement', true);
  done bigint := CASE WHEN split_part(last, ' ', 1) = key THEN split_part(last, ' ', 2)::bigint ELSE 0 END;
  found record;
BEGIN
  IF inner_text IS NOT NULL THEN
    RETURN inner_text;
  END IF;
  SELECT s.place, s.statement INTO found FROM logminer.statements(current_query()) s
  WHERE regexp_replace(s.statement, '^(\s|--[^\n]*\n|/\*([^*]|\*+[^*/])*\*+/)*', '')
          ~* ('^' || split_part(tag, ' ', 1) || '\M.*\m' || split_part(tag, ' ', 2))
    AND position(lower(coalesce(name, '')) IN lower(s.statement)) > 0
  ORDER BY s.place <= done, CASE WHEN s.place <= done THEN -s.place ELSE s.place END LIMIT 1;
  PERFORM set_config('logminer.statement', key || ' ' || coalesce(found.place, done), false);
  RETURN coalesce(found.statement, btrim(current_query(), E' \t\r\n;'));
END $$;

CREATE FUNCTION logminer.emit_ddl(owner text, name text, table_oid oid, version int, sql_text text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  xid text;
BEGIN
  IF logminer.setting('ddl') <> 'on' OR logminer.ini('RLOG_APPEND_LOGIC') = '0' THEN
    RETURN;
  END IF;
  xid := pg_current_xact_id()::text;
  IF current_setting('logminer.xid', true) IS DISTINCT FROM xid THEN
    PERFORM logminer.begin_transaction(xid);
  END IF;
  PERFORM pg_logical_emit_message(false, concat_ws(E'\x01', 'LM', '5', xid, extract(epoch FROM clock_timestamp()), pg_backend_pid(),
    session_user, '', coalesce(table_oid::text, ''), coalesce(version::text, ''), coalesce(owner, ''), coalesce(name, ''),
    E'\x02' || sql_text), '');
END $$;

CREATE FUNCTION logminer.on_ddl() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  command record;
  before record;
  after record;
  context text;
BEGIN
  GET DIAGNOSTICS context = PG_CONTEXT;
  FOR command IN
    SELECT DISTINCT ON (d.objid) d.objid, d.object_type, d.schema_name, coalesce(x.indrelid, d.objid) AS table_oid
    FROM pg_event_trigger_ddl_commands() d LEFT JOIN pg_index x ON d.object_type = 'index' AND x.indexrelid = d.objid
    WHERE d.classid = 'pg_class'::regclass AND d.object_type IN ('table', 'table column')
       OR d.object_type = 'index' AND tg_tag = 'CREATE INDEX'
  LOOP
    CONTINUE WHEN NOT logminer.is_logged(command.table_oid);
    SELECT s.owner, s.name INTO before
    FROM logminer.table_version v JOIN logminer.table_shape s USING (table_oid, version) WHERE v.table_oid = command.table_oid;
    IF command.object_type <> 'index' THEN
      PERFORM logminer.attach(command.objid);
    END IF;
    SELECT s.owner, s.name, s.version INTO after
    FROM logminer.table_version v JOIN logminer.table_shape s USING (table_oid, version) WHERE v.table_oid = command.table_oid;
    CONTINUE WHEN after IS NULL;
    -- A renamed table: under the name that it had.
    PERFORM logminer.emit_ddl(coalesce(before.owner, after.owner), coalesce(before.name, after.name), command.table_oid, after.version,
                              logminer.statement_text(context, tg_tag, coalesce(before.name, after.name)));
  END LOOP;
  IF tg_tag = 'CREATE SCHEMA' THEN
    -- Owner and table are empty (measured).
    SELECT object_identity INTO command FROM pg_event_trigger_ddl_commands() WHERE object_type = 'schema';
    PERFORM logminer.emit_ddl(NULL, NULL, NULL, NULL,
                              logminer.statement_text(context, tg_tag, btrim(command.object_identity, '"')));
  END IF;
END $$;

CREATE FUNCTION logminer.on_drop() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  gone record;
  context text;
BEGIN
  GET DIAGNOSTICS context = PG_CONTEXT;
  FOR gone IN
    SELECT d.objid, d.object_type, d.original, d.schema_name, d.object_name, v.version
    FROM pg_event_trigger_dropped_objects() d LEFT JOIN logminer.table_version v ON v.table_oid = d.objid
    WHERE d.object_type IN ('table', 'schema') AND NOT d.is_temporary
  LOOP
    IF gone.object_type = 'table' AND to_regprocedure(format('logminer.%I()', 'log_' || gone.objid)) IS NOT NULL THEN
      EXECUTE format('DROP FUNCTION logminer.%I()', 'log_' || gone.objid);
      DELETE FROM logminer.table_version WHERE table_oid = gone.objid;
      IF gone.original THEN
        PERFORM logminer.emit_ddl(gone.schema_name, gone.object_name, gone.objid, gone.version,
                                  logminer.statement_text(context, tg_tag, gone.object_name));
      END IF;
    ELSIF gone.object_type = 'schema' AND gone.original THEN
      PERFORM logminer.emit_ddl(NULL, NULL, NULL, NULL, logminer.statement_text(context, tg_tag, gone.object_name));
    END IF;
  END LOOP;
END $$;

-- TRUNCATE is DDL on DM8. The table keeps its id and version (not measured). That of a partition is its root's, in DM8's words; with its
-- root's own TRUNCATE it is not told of.
CREATE FUNCTION logminer.on_truncate() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  context text;
  root record;
  moment text := extract(epoch FROM statement_timestamp());
BEGIN
  SELECT c.oid, n.nspname, c.relname INTO root
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_partition_root(tg_relid);
  IF root.oid <> tg_relid THEN
    IF current_setting('logminer.truncated', true) IS DISTINCT FROM root.oid || ' ' || moment THEN
      PERFORM logminer.emit_ddl(root.nspname, root.relname, root.oid, (SELECT version FROM logminer.table_version WHERE table_oid = root.oid),
                                format('ALTER TABLE %s.%s TRUNCATE PARTITION %s', logminer.quoted(root.nspname), logminer.quoted(root.relname),
                                       logminer.quoted(tg_table_name)));
    END IF;
    RETURN NULL;
  END IF;
  PERFORM set_config('logminer.truncated', tg_relid || ' ' || moment, true);
  IF logminer.setting('ddl') = 'on' THEN
    GET DIAGNOSTICS context = PG_CONTEXT;
    PERFORM logminer.emit_ddl(tg_table_schema, tg_table_name, tg_relid, (SELECT version FROM logminer.table_version WHERE table_oid = tg_relid),
                              logminer.statement_text(context, 'TRUNCATE', tg_table_name));
  END IF;
  RETURN NULL;
END $$;

CREATE EVENT TRIGGER logminer_ddl ON ddl_command_end
  WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE', 'CREATE INDEX', 'CREATE SCHEMA')
  EXECUTE FUNCTION logminer.on_ddl();
CREATE EVENT TRIGGER logminer_drop ON sql_drop
  WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA', 'DROP OWNED')
  EXECUTE FUNCTION logminer.on_drop();

-- Tables that were there before.
DO $$
BEGIN
  PERFORM logminer.attach(oid) FROM pg_class WHERE relkind IN ('r', 'p');
END $$;
