-- DBMS_LOGMNR: the calls, and the session they keep. On DM8 a LogMiner session is no part of a transaction, so a ROLLBACK
-- must not take it back; a prepared statement is what PostgreSQL keeps a session long, outside transactions and outside
-- the log. Its text holds: files (segment numbers), started, startscn, endscn, starttime, endtime, options.

CREATE FUNCTION logminer.session_get() RETURNS jsonb
LANGUAGE sql AS $$
  SELECT split_part(statement, '$lm$', 2)::jsonb FROM pg_prepared_statements WHERE name = 'DBMS_LOGMNR'
$$;

CREATE FUNCTION logminer.session_set(state jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF logminer.session_get() IS NOT NULL THEN
    DEALLOCATE "DBMS_LOGMNR";
  END IF;
  IF state IS NOT NULL THEN
    EXECUTE format('PREPARE "DBMS_LOGMNR" AS SELECT $lm$%s$lm$', state);
  END IF;
END $$;

CREATE FUNCTION logminer.fail(code int, text text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '[%] %', code, text USING ERRCODE = 'HY000';
END $$;

CREATE PROCEDURE dbms_logmnr.remove_logfile(logfilename text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  state jsonb := logminer.session_get();
  wanted bigint;
BEGIN
  IF state IS NULL THEN
    PERFORM logminer.fail(-2846, 'no LogMiner session is currently active');
  END IF;
  SELECT (f ->> 'number')::bigint INTO wanted FROM jsonb_array_elements(state -> 'files') f WHERE f ->> 'path' = logfilename;
  IF wanted IS NULL THEN
    PERFORM logminer.fail(-2849, 'cannot remove unlisted logfile');
  END IF;
  PERFORM logminer.session_set(state || jsonb_build_object('files', coalesce(
    (SELECT jsonb_agg(f) FROM jsonb_array_elements(state -> 'files') f WHERE f ->> 'path' <> logfilename), '[]')));
END $$;

CREATE PROCEDURE dbms_logmnr.add_logfile(logfilename text, options integer DEFAULT 3, raftid integer DEFAULT NULL)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  state jsonb := logminer.session_get();
  wanted bigint;
BEGIN
  IF options = 2 THEN
    IF state IS NULL THEN
      PERFORM logminer.fail(-2849, 'cannot remove unlisted logfile');
    END IF;
    CALL dbms_logmnr.remove_logfile(logfilename);
    RETURN;
  ELSIF options NOT IN (1, 3) THEN
    PERFORM logminer.fail(-2850, 'para conflict');
  END IF;
  IF options = 1 THEN
    state := NULL;
  ELSIF (state ->> 'started')::boolean THEN
    PERFORM logminer.fail(-2853, 'Cannot add logfile after start_logmnr');
  END IF;
  SELECT number INTO wanted FROM logminer.archives() a
  WHERE path = logfilename AND NOT EXISTS (SELECT FROM logminer.archive_fault f WHERE f.number = a.number AND fault = 'lost');
  IF wanted IS NULL THEN
    PERFORM logminer.fail(-4546, '[DBMS_LOGMNR.ADD_LOGFILE] File open failure');
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(state -> 'files') f WHERE f ->> 'path' = logfilename) THEN
    PERFORM logminer.fail(-2848, 'cannot add duplicate logfile');
  END IF;
  PERFORM logminer.session_set(coalesce(state, '{"started": false, "files": []}')
    || jsonb_build_object('files', coalesce(state -> 'files', '[]') || jsonb_build_object('number', wanted, 'path', logfilename)));
END $$;

CREATE PROCEDURE dbms_logmnr.start_logmnr(
  startscn bigint DEFAULT 0, endscn bigint DEFAULT 0, starttime timestamp DEFAULT '1988-01-01',
  endtime timestamp DEFAULT '2110-12-31', dictfilename text DEFAULT '', options integer DEFAULT 0)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  state jsonb := logminer.session_get();
BEGIN
  IF (state ->> 'started')::boolean THEN
    PERFORM logminer.fail(-2845, 'dbms_logmnr.end_logmnr() must be invoked before dbms_logmnr.start_logmnr() again');
  END IF;
  IF state IS NULL OR jsonb_array_length(state -> 'files') = 0 THEN
    PERFORM logminer.fail(-2847, 'no log file has been specified for the current LogMiner session');
  END IF;
  PERFORM logminer.session_set(state || jsonb_build_object('started', true, 'startscn', startscn, 'endscn', endscn,
    'starttime', to_char(starttime, 'YYYY-MM-DD HH24:MI:SS.US'), 'endtime', to_char(endtime, 'YYYY-MM-DD HH24:MI:SS.US'),
    'options', options));
END $$;

CREATE PROCEDURE dbms_logmnr.end_logmnr()
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
BEGIN
  IF logminer.session_get() IS NULL THEN
    PERFORM logminer.fail(-2846, 'no LogMiner session is currently active');
  END IF;
  PERFORM logminer.session_set(NULL);
END $$;
