-- The rows of V$LOGMNR_CONTENTS, in log order.

-- A text of more than 4,000 bytes in pieces of at most 4,000. DM8 may cut inside a character (not measured); a piece here
-- must be valid text, so the cut is at the last character boundary.
CREATE FUNCTION logminer.pieces(body bytea, OUT ssn int, OUT csf int, OUT piece text) RETURNS SETOF record
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  place int := 1;
  total int := octet_length(body);
  length int;
BEGIN
  ssn := 0;
  WHILE place <= total LOOP
    length := least(4000, total - place + 1);
    IF place + length <= total THEN
      WHILE get_byte(body, place + length - 1) & 192 = 128 LOOP
        length := length - 1;
      END LOOP;
    END IF;
    csf := (place + length <= total)::int;
    piece := convert_from(substring(body FROM place FOR length), 'UTF8');
    RETURN NEXT;
    place := place + length;
    ssn := ssn + 1;
  END LOOP;
END $$;

-- ord orders what stands at one position; ts is in the server's zone; body is the whole SQL_REDO, undo the whole SQL_UNDO; ssn and
-- csf only where the record itself says them.
CREATE FUNCTION logminer.contents()
RETURNS TABLE (lsn pg_lsn, ord bigint, scn bigint, start_scn bigint, ts timestamp, code int, xid bigint, roll_back int,
               seg_owner text, table_name text, row_id text, username text, session_id bigint,
               table_oid bigint, table_version int, body bytea, undo bytea, ssn int, csf int, status int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer SET timezone = 'UTC' SET datestyle = 'ISO, YMD'
SET work_mem = '256MB' SET jit = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  session jsonb := logminer.session_get();
  lever jsonb := (SELECT jsonb_object_agg(s.name, s.value) FROM (SELECT name, value FROM logminer.setting
                                                                 UNION ALL SELECT para_name, para_value FROM logminer.ini) s);
  g bigint := (lever ->> 'granularity')::bigint;
  zone text := lever ->> 'time_zone';
  segment bigint := logminer.segment_size();
  options int := (session ->> 'options')::int;
  files bigint[];
  low_time timestamp := (session ->> 'starttime')::timestamp;
  high_time timestamp := (session ->> 'endtime')::timestamp;
  flushed pg_lsn := pg_current_wal_flush_lsn();
  low pg_lsn;
  high pg_lsn;       -- rows of records that start at or after low and before high
  reading_end pg_lsn;
  base record;       -- the state from which to read on
  flagged boolean := lever ->> 'undo_form' = 'flagged';
  contiguous boolean := lever ->> 'row_order' = 'commit';
  gen_undo boolean := lever ->> 'LOGMNR_GEN_UNDO' = '1';
  how jsonb := lever || jsonb_build_object('options', options, 'undo', gen_undo);      -- what 44_present.sql must know
  stale text[];      -- the versions of tables that are not today's, as the messages name them
BEGIN
  IF NOT coalesce((session ->> 'started')::boolean, false) THEN
    PERFORM logminer.fail(-2844, 'dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents');
  END IF;
  IF lever ->> 'serve' = 'prepared' OR lever ->> 'RLOG_APPEND_LOGIC' = '0' THEN
    RETURN;      -- the view takes them from the table; nothing is mined without logic records
  END IF;
  SELECT array_agg((f ->> 'number')::bigint ORDER BY (f ->> 'number')::bigint) INTO files
  FROM jsonb_array_elements(session -> 'files') f;
  IF EXISTS (SELECT FROM unnest(files) f WHERE f NOT IN (SELECT number FROM logminer.segments())
               OR f IN (SELECT number FROM logminer.archive_fault WHERE fault = 'lost')) THEN
    PERFORM logminer.fail(-4546, '[V$LOGMNR_CONTENTS] File open failure');
  END IF;
  low := greatest(logminer.lsn(greatest((session ->> 'startscn')::bigint, 0), g), '0/0'::pg_lsn + files[1]::numeric * segment);
  high := least(flushed, '0/0'::pg_lsn + (files[array_upper(files, 1)] + 1)::numeric * segment);
  IF (session ->> 'endscn')::bigint > 0 THEN
    high := least(high, logminer.lsn((session ->> 'endscn')::bigint + 1, g));
  END IF;
  IF low >= high THEN
    RETURN;
  END IF;
  SELECT * INTO base FROM logminer.state_before(low);
  IF lever ->> 'dictionary' = 'current' THEN
    SELECT array_agg(concat_ws(E'\x01', s.table_oid, s.version)) INTO stale
    FROM logminer.table_shape s LEFT JOIN logminer.table_version v USING (table_oid) WHERE s.version IS DISTINCT FROM v.version;
  END IF;
  -- In the flagged form a row says that it was undone later: the log is looked through to its end.
  reading_end := CASE WHEN flagged THEN flushed ELSE logminer.reading_end(high, flushed, base.lsn) END;

  RETURN QUERY
  WITH rec AS MATERIALIZED (
    SELECT r.lsn, r.xid, r.kind, r.description FROM logminer.records(base.lsn, reading_end) r WHERE r.lsn < high OR flagged),
  msg AS MATERIALIZED (
    -- (a crafted record may stand under an xid of its own, written by nobody)
    SELECT r.lsn, CASE WHEN r.xid = 0 THEN split_part(r.description, E'\x01', 3)::bigint ELSE r.xid END AS wx,
           split_part(r.description, E'\x01', 2)::int AS code,
           split_part(r.description, E'\x01', 3)::bigint AS top, r.description
    FROM rec r WHERE r.kind = 'M'),
  fin AS MATERIALIZED (
    SELECT r.lsn, r.kind, logminer.record_time(r.description) AS ts, logminer.record_children(r.description) AS children,
           CASE WHEN r.kind IN ('c', 'a') THEN split_part(r.description, ':', 1)::bigint ELSE r.xid END AS x
    FROM rec r WHERE r.kind IN ('C', 'A', 'P', 'c', 'a')),
  dead AS (SELECT r.lsn FROM rec r WHERE r.kind = 'S'),
  -- transactions with a START, as far back as the log was ever read
  tops AS MATERIALIZED (
    SELECT t.t, min(t.s) AS start, bool_or(t.p) AS prepared
    FROM (SELECT b.t, b.s, b.p FROM jsonb_to_recordset(base.state -> 'tops') b(t bigint, s pg_lsn, p boolean)
          UNION ALL SELECT m.top, min(m.lsn), false FROM msg m GROUP BY m.top) t
    GROUP BY t.t),
  -- subtransactions, each with its top and the position of its first change
  sub0 AS MATERIALIZED (
    SELECT s.x, min(s.t) AS t, min(s.f) AS first
    FROM (SELECT b.x, b.t, b.f FROM jsonb_to_recordset(base.state -> 'subs') b(x bigint, t bigint, f pg_lsn)
          UNION ALL SELECT m.wx, min(m.top), min(m.lsn) FROM msg m WHERE m.wx <> m.top GROUP BY m.wx
          UNION ALL SELECT c::bigint, split_part(split_part(r.description, 'xtop ', 2), ':', 1)::bigint, NULL
                    FROM rec r, unnest(logminer.record_children(r.description)) c WHERE r.kind = 'T') s
    GROUP BY s.x),
  silent AS MATERIALIZED (
    SELECT o.x, o.t
    FROM (SELECT array_agg(f.x) AS wanted
          FROM fin f LEFT JOIN sub0 s ON s.x = f.x LEFT JOIN tops t ON t.t = f.x
          WHERE f.kind = 'A' AND s.x IS NULL AND t.t IS NULL) q,
         LATERAL logminer.tops_of_silent(q.wanted, base.lsn, (base.state ->> 'seen')::bigint, reading_end) o),
  sub AS MATERIALIZED (
    SELECT s.x, s.t, s.first FROM sub0 s
    UNION ALL SELECT s.x, s.t, NULL FROM silent s WHERE s.x <> s.t),
  -- ends of top transactions
  ends AS MATERIALIZED (
    SELECT f.* FROM fin f LEFT JOIN sub s ON s.x = f.x AND f.kind = 'A' WHERE s.x IS NULL
    UNION ALL      -- crafted ones, which are rows already
    SELECT m.lsn, CASE m.code WHEN 36 THEN 'x' ELSE 'X' END, NULL, '{}', m.top FROM msg m WHERE m.code IN (7, 36, 38)),
  -- which subtransactions were undone where
  undone AS MATERIALIZED (
    SELECT f.lsn, f.ts, s.t, u.x
    FROM fin f JOIN sub s ON s.x = f.x, LATERAL (SELECT f.x UNION ALL SELECT unnest(f.children)) u(x)
    WHERE f.kind = 'A'),
  -- changes before `base.lsn` that are undone in the window
  early AS (
    SELECT r.lsn, r.xid AS wx, split_part(r.description, E'\x01', 2)::int AS code,
           split_part(r.description, E'\x01', 3)::bigint AS top, r.description
    FROM (SELECT min(s.first) AS first FROM undone u JOIN sub s ON s.x = u.x WHERE s.first < base.lsn AND u.lsn >= low) e,
         LATERAL logminer.records(e.first, logminer.reading_end(base.lsn, flushed, e.first)) r
    WHERE e.first IS NOT NULL AND r.kind = 'M' AND r.lsn < base.lsn),
  crashed AS MATERIALIZED (
    SELECT t.t, t.start, (SELECT min(d.lsn) FROM dead d WHERE d.lsn > t.start) AS lsn
    FROM tops t LEFT JOIN ends e ON e.x = t.t
    WHERE e.x IS NULL AND NOT t.prepared AND t.start < (SELECT max(d.lsn) FROM dead d)),
  whole AS (      -- COMMITTED_DATA_ONLY: transactions that lie in the window from START to COMMIT
    SELECT e.x FROM ends e LEFT JOIN tops t ON t.t = e.x
    WHERE e.kind IN ('C', 'c', 'X') AND e.lsn >= low AND e.lsn < high AND coalesce(t.start, e.lsn) >= low),
  -- the flagged form: what was undone, in part or with its whole transaction
  flag AS MATERIALIZED (
    SELECT u.x FROM undone u WHERE flagged
    UNION SELECT e.x FROM ends e WHERE flagged AND e.kind IN ('A', 'a')
    UNION SELECT c.t FROM crashed c WHERE flagged
    UNION SELECT s.x FROM sub s JOIN ends e ON e.x = s.t WHERE flagged AND e.kind IN ('A', 'a')
    UNION SELECT s.x FROM sub s JOIN crashed c ON c.t = s.t WHERE flagged),
  -- the order by commits: where each transaction ends in this window
  finish AS MATERIALIZED (
    SELECT e.x, min(e.lsn) AS lsn FROM ends e WHERE contiguous AND e.kind <> 'P' AND e.lsn < high GROUP BY e.x),
  event AS (
    SELECT m.lsn, 0::bigint AS ord, m.code, m.top, t.start, NULL::timestamptz AS ts,
           CASE WHEN m.code <> 6 AND m.wx IN (SELECT f.x FROM flag f) THEN 1 ELSE 0 END AS roll_back, m.description
    FROM msg m JOIN tops t ON t.t = m.top
    WHERE m.lsn >= low AND (m.code <> 6 OR m.lsn = t.start)
      AND (options & 2 = 0 OR m.wx NOT IN (SELECT u.x FROM undone u))
    UNION ALL
    SELECT e.lsn, 0, CASE e.kind WHEN 'C' THEN 7 WHEN 'c' THEN 38 WHEN 'P' THEN 15 ELSE 36 END, e.x,
           coalesce(t.start, e.lsn), e.ts, 0, NULL
    FROM ends e LEFT JOIN tops t ON t.t = e.x
    WHERE e.lsn >= low AND e.kind NOT IN ('X', 'x')
    UNION ALL
    SELECT e.lsn, -1, 6, e.x, e.lsn, e.ts, 0, NULL
    FROM ends e LEFT JOIN tops t ON t.t = e.x
    WHERE e.lsn >= low AND e.kind IN ('C', 'A', 'P') AND t.t IS NULL
    UNION ALL
    SELECT u.lsn, row_number() OVER (PARTITION BY u.lsn ORDER BY m.lsn DESC), logminer.undo_code(m.code), m.top, t.start, u.ts, 1,
           m.description
    FROM undone u
    JOIN (SELECT * FROM msg UNION ALL SELECT * FROM early) m ON m.wx = u.x
    JOIN tops t ON t.t = m.top
    WHERE u.lsn >= low AND m.code IN (1, 2, 3) AND options & 2 = 0 AND NOT flagged
    UNION ALL
    -- a crash has no time of its own: that of the last end before it
    SELECT c.lsn, row_number() OVER (PARTITION BY c.lsn ORDER BY c.t), 36, c.t, c.start,
           coalesce((SELECT max(f.ts) FROM fin f WHERE f.lsn < c.lsn), (base.state ->> 'time')::timestamptz), 0, NULL
    FROM crashed c WHERE c.lsn >= low),
  row_out AS MATERIALIZED (
    SELECT v.lsn, v.ord, logminer.scn(v.lsn, g) AS scn, logminer.scn(v.start, g) AS start_scn,
           coalesce(v.ts, to_timestamp(nullif(split_part(v.description, E'\x01', 4), '')::float8)) AT TIME ZONE zone AS ts,
           v.code, v.top, v.roll_back,
           nullif(split_part(v.description, E'\x01', 10), '') AS seg_owner,
           nullif(split_part(v.description, E'\x01', 11), '') AS table_name,
           nullif(split_part(v.description, E'\x01', 7), '') AS row_id,
           nullif(split_part(v.description, E'\x01', 6), '') AS username,
           nullif(split_part(v.description, E'\x01', 5), '')::bigint AS session_id,
           nullif(split_part(v.description, E'\x01', 8), '')::bigint AS table_oid,
           nullif(split_part(v.description, E'\x01', 9), '')::int AS table_version,
           CASE
             WHEN v.description IS NULL OR v.code = 6 THEN NULL
             WHEN v.roll_back = 1 AND NOT flagged
               THEN convert_to(logminer.undo_text(logminer.undo_code(v.code), convert_from(substring(d FROM head + 1 FOR total - head - 22), 'UTF8')), 'UTF8')
             ELSE substring(d FROM head + 1 FOR total - head - 22)
           END
           || CASE WHEN special THEN ''::bytea
                ELSE CASE WHEN options & 2048 = 0 AND v.code IN (2, 3)
                       THEN convert_to(' AND ROWID = ''' || split_part(v.description, E'\x01', 7) || '''', 'UTF8') ELSE '' END
                     || CASE WHEN options & 64 = 0 THEN '\x3b'::bytea ELSE '' END
              END AS body,
           special,
           CASE WHEN special AND get_byte(d, head - 2) <> 1
             THEN split_part(split_part(convert_from(substring(d FROM 1 FOR head - 1), 'UTF8'), E'\x01', 12), E'\x02', 1)::jsonb END AS extras
    FROM event v
    -- the text stands between \x02 and the 22 bytes '"; payload (0 bytes): '
    CROSS JOIN LATERAL (SELECT convert_to(v.description, 'UTF8') AS d OFFSET 0) c
    CROSS JOIN LATERAL (SELECT position('\x02'::bytea IN d) AS head, octet_length(d) AS total OFFSET 0) p
    -- special: it has extras, or is not shown as it was written
    CROSS JOIN LATERAL (
      SELECT CASE WHEN head > 2 AND v.code <> 6
               THEN get_byte(d, head - 2) <> 1
                    OR v.code IN (1, 2, 3)
                       AND (gen_undo OR stale IS NOT NULL AND concat_ws(E'\x01', split_part(v.description, E'\x01', 8),
                                                                        split_part(v.description, E'\x01', 9)) = ANY (stale))
               ELSE false END AS special OFFSET 0) q
    WHERE (logminer.bytes(v.lsn) / segment) = ANY (files) AND v.lsn < high
      AND (options & 2 = 0 OR v.top IN (SELECT x FROM whole))),
  -- where the next window will begin: at the scn of the last row
  stop AS MATERIALIZED (
    SELECT greatest(base.lsn, coalesce(logminer.lsn((SELECT max(o.scn) FROM row_out o), g), low)) AS lsn),
  open_top AS MATERIALIZED (
    SELECT t.t, t.start, t.prepared OR EXISTS (SELECT FROM ends p WHERE p.x = t.t AND p.kind = 'P' AND p.lsn < s.lsn) AS prepared
    FROM stop s
    JOIN tops t ON t.start < s.lsn
    LEFT JOIN ends e ON e.x = t.t AND e.kind <> 'P' AND e.lsn < s.lsn
    LEFT JOIN crashed c ON c.t = t.t AND c.lsn < s.lsn
    WHERE e.x IS NULL AND c.t IS NULL),
  remembered AS MATERIALIZED (
    SELECT logminer.state_save(s.lsn, jsonb_build_object(
      'time', coalesce((SELECT max(f.ts) FROM fin f WHERE f.lsn < s.lsn), (base.state ->> 'time')::timestamptz),
      'tops', coalesce((SELECT jsonb_agg(jsonb_build_object('t', o.t, 's', o.start, 'p', o.prepared)) FROM open_top o), '[]'),
      'subs', coalesce((SELECT jsonb_agg(jsonb_build_object('x', b.x, 't', b.t, 'f', b.first))
                        FROM sub b JOIN open_top o ON o.t = b.t
                        WHERE coalesce(b.first, '0/0') < s.lsn AND b.x NOT IN (SELECT u.x FROM undone u WHERE u.lsn < s.lsn)), '[]'))) AS done
    FROM stop s
    WHERE s.lsn - base.lsn > 65536)
  SELECT f.*
  FROM (SELECT o.lsn, o.ord, o.scn, o.start_scn, o.ts, o.code, o.top, o.roll_back, o.seg_owner, o.table_name, o.row_id, o.username,
               o.session_id, o.table_oid, o.table_version, o.body, NULL::bytea AS undo, NULL::int AS ssn, NULL::int AS csf, 0 AS status
        FROM row_out o WHERE NOT o.special
        UNION ALL
        SELECT o.lsn, o.ord, o.scn, o.start_scn, o.ts, p.code, o.top, p.roll_back, p.seg_owner, p.table_name, o.row_id, o.username,
               o.session_id, o.table_oid, o.table_version, p.body, p.undo, p.ssn, p.csf, p.status
        FROM row_out o
        CROSS JOIN LATERAL logminer.present(o.code, o.roll_back, o.seg_owner, o.table_name, o.body, o.row_id, o.table_oid,
                                            o.table_version, o.extras, how) p
        WHERE o.special AND p.shown) f
  LEFT JOIN finish e ON e.x = f.top
  WHERE (f.ts IS NULL OR f.ts BETWEEN low_time AND high_time) AND (SELECT count(*) FROM remembered) IS NOT NULL
  ORDER BY CASE WHEN contiguous THEN coalesce(e.lsn, high) END, CASE WHEN contiguous THEN f.top END, f.lsn, f.ord;
END $$;
