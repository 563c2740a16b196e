-- The levers that are calls (the others are rows of logminer.setting and logminer.ini), and what of DM8's own can be called.

-- As a DM8 server was measured to behave, all at once: DDL rows, large values by handle, today's dictionary.
CREATE PROCEDURE logminer.as_dm8()
LANGUAGE sql AS $$
  UPDATE logminer.setting SET value = CASE name WHEN 'ddl' THEN 'on' WHEN 'lob' THEN 'out' WHEN 'dictionary' THEN 'current' END
  WHERE name IN ('ddl', 'lob', 'dictionary');
$$;

-- Archiving stops, and goes on. (A COMMIT flushes all the same.)
CREATE PROCEDURE logminer.hold() LANGUAGE sql AS $$ UPDATE logminer.setting SET value = 'hold' WHERE name = 'archiver' $$;
CREATE PROCEDURE logminer.release() LANGUAGE sql AS $$ UPDATE logminer.setting SET value = 'on' WHERE name = 'archiver' $$;

-- ALTER SYSTEM ARCHIVE LOG CURRENT, which PostgreSQL cannot parse.
CREATE PROCEDURE logminer.switch()
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_logical_emit_message(false, 'switch', '');      -- an archive with nothing in it would not end
  PERFORM pg_switch_wal();
END $$;

-- The server deletes the archives that end before a position, but never the active one: no longer listed, -4546 when added.
CREATE PROCEDURE logminer.purge(before_scn bigint DEFAULT 9223372036854775807)
LANGUAGE sql AS $$
  INSERT INTO logminer.purged
    SELECT number, path, created, closed FROM logminer.archives() WHERE NOT active AND clsn < before_scn
  ON CONFLICT DO NOTHING
$$;

-- lost | unlisted | duplicate | none, of one archive.
CREATE PROCEDURE logminer.fault(archive text, wanted text)
LANGUAGE plpgsql AS $$
DECLARE
  which bigint := (SELECT number FROM logminer.segments() WHERE name = right(archive, 24));
BEGIN
  DELETE FROM logminer.archive_fault WHERE number = which;
  IF wanted <> 'none' THEN
    INSERT INTO logminer.archive_fault VALUES (which, wanted);
  END IF;
END $$;

-- ALTER TABLE … ADD | DROP LOGIC LOG, which PostgreSQL cannot parse.
CREATE PROCEDURE logminer.logic_log(name regclass, wanted boolean)
LANGUAGE sql AS $$ UPDATE logminer.table_version SET logic_log = wanted WHERE table_oid = name $$;

-- A record of any kind. With an xid of its own it belongs to no transaction of PostgreSQL (call it outside one, alone in its
-- statement); without, to the one it is called in. Returns the position behind the record.
CREATE FUNCTION logminer.append(op int, sql_redo text DEFAULT '', owner text DEFAULT '', table_name text DEFAULT '', status int DEFAULT 0,
                                csf int DEFAULT 0, ssn int DEFAULT 0, roll_back int DEFAULT 0, xid bigint DEFAULT NULL, row_id text DEFAULT '',
                                table_oid oid DEFAULT NULL, version int DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  its_xid text := coalesce(xid::text, pg_current_xact_id()::text);
  written pg_lsn;
BEGIN
  IF xid IS NULL AND current_setting('logminer.xid', true) IS DISTINCT FROM its_xid THEN
    PERFORM logminer.begin_transaction(its_xid);
  END IF;
  written := pg_logical_emit_message(false, concat_ws(E'\x01', 'LM', op, its_xid, extract(epoch FROM clock_timestamp()), pg_backend_pid(),
    session_user, row_id, coalesce(table_oid::text, ''), coalesce(version::text, ''), owner, table_name,
    jsonb_build_object('s', status, 'c', csf, 'n', ssn, 'r', roll_back)::text || E'\x02' || sql_redo), '');
  RETURN logminer.scn(written, logminer.granularity());
END $$;

-- What mining gives of [low, high] now is kept; UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve' serves it.
-- Any rows may be put into logminer.prepared as well.
CREATE PROCEDURE logminer.prepare(low bigint, high bigint DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
  file text;
  option int := 1;
BEGIN
  FOR file IN SELECT path FROM logminer.archives() ORDER BY number LOOP
    CALL dbms_logmnr.add_logfile(file, option);
    option := 3;
  END LOOP;
  CALL dbms_logmnr.start_logmnr(startscn => low, endscn => high, options => 2128);
  INSERT INTO logminer.prepared TABLE logminer.mined;
  CALL dbms_logmnr.end_logmnr();
END $$;

-- DM8's own. Scope 1: memory and dm.ini; 2: dm.ini only, after a restart (here: nothing changes in memory).
CREATE PROCEDURE "SYS".sp_set_para_value(scope int, name text, value text)
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM logminer.ini WHERE para_name = upper(name)) THEN
    PERFORM logminer.fail(-2850, 'para conflict');
  END IF;
  IF scope = 1 THEN
    UPDATE logminer.ini SET para_value = value WHERE para_name = upper(name);
  END IF;
END $$;
CREATE PROCEDURE "SYS".sp_set_para_value(scope int, name text, value bigint)
LANGUAGE sql AS $$ CALL "SYS".sp_set_para_value(scope, name, value::text) $$;

-- 1 makes the package, 0 drops it.
CREATE PROCEDURE "SYS".sp_create_system_packages(wanted int, name text)
LANGUAGE plpgsql AS $$
BEGIN
  IF upper(name) = 'DBMS_LOGMNR' AND wanted = 0 THEN
    ALTER SCHEMA dbms_logmnr RENAME TO dbms_logmnr_dropped;
  ELSIF upper(name) = 'DBMS_LOGMNR' AND EXISTS (SELECT FROM pg_namespace WHERE nspname = 'dbms_logmnr_dropped') THEN
    ALTER SCHEMA dbms_logmnr_dropped RENAME TO dbms_logmnr;
  END IF;
END $$;
