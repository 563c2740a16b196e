-- What mining must know of the log before its window: the transactions open there, with the position of their START, and
-- their subtransactions. It is kept in files beside the log (mining writes no log), one a position, and
-- computed forward from the nearest one; without any, from the oldest kept log.
--   {"seen": where known, the largest xid given out (all ended), "time": of the last end, "tops": [{"t": xid, "s": start, "p": prepared}], "subs": [{"x": xid, "t": top, "f": first message}]}

CREATE FUNCTION logminer.state_name(lsn pg_lsn) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT 'state-' || lpad(to_hex(logminer.bytes(lsn)), 16, '0') $$;

CREATE FUNCTION logminer.state_files(OUT name text, OUT lsn pg_lsn) RETURNS SETOF record
LANGUAGE sql AS $$
  SELECT f, '0/0'::pg_lsn + ('x' || substr(f, 7))::bit(64)::bigint::numeric
  FROM pg_ls_dir('logminer') f WHERE f ~ '^state-[0-9a-f]{16}$'
$$;

CREATE FUNCTION logminer.state_before(wanted pg_lsn, OUT lsn pg_lsn, OUT state jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  oldest pg_lsn := logminer.oldest_lsn();
  file record;
BEGIN
  FOR file IN SELECT f.name, f.lsn FROM logminer.state_files() f WHERE f.lsn <= wanted ORDER BY f.lsn DESC LOOP
    state := pg_read_file('logminer/' || file.name, 0, 100000000, true)::jsonb;
    CONTINUE WHEN state IS NULL;      -- removed meanwhile
    lsn := greatest(file.lsn, oldest);
    RETURN;
  END LOOP;
  lsn := oldest;
  state := '{"tops": [], "subs": []}';
END $$;

-- Written whole under another name first. States nearer than a megabyte to one another are thinned out.
CREATE FUNCTION logminer.state_save(at_lsn pg_lsn, state jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  target text := 'logminer/' || logminer.state_name(at_lsn);
  draft text := 'logminer/draft-' || pg_backend_pid();
  before record;
BEGIN
  IF pg_stat_file(target, true) IS NULL THEN
    PERFORM pg_file_unlink(draft);
    PERFORM pg_file_write(draft, state::text, false);
    PERFORM pg_file_rename(draft, target);
    SELECT array_agg(f.name) AS names, array_agg(f.lsn) AS lsns INTO before
    FROM (SELECT * FROM logminer.state_files() s WHERE s.lsn < at_lsn ORDER BY s.lsn DESC LIMIT 2) f;
    IF before.lsns[2] IS NOT NULL AND before.lsns[1] - before.lsns[2] < 1048576 THEN
      PERFORM pg_file_unlink('logminer/' || before.names[1]);
    END IF;
  END IF;
  RETURN true;
EXCEPTION WHEN OTHERS THEN
  RETURN false;      -- another session was quicker; the state can be computed again
END $$;
