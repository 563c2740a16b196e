\ir ../../kit.sql

-- What the stand-in's tests stand on: asking the log.
-- The position now, once all up to it can be mined.
CREATE FUNCTION kit.here() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v bigint := (SELECT "CUR_LSN" FROM "V$RLOG");
  since timestamptz := clock_timestamp();
BEGIN
  LOOP
    EXIT WHEN (SELECT max("CLSN") FROM "V$ARCH_FILE") >= v;
    IF clock_timestamp() - since > interval '30 s' THEN
      RAISE EXCEPTION 'the archive did not reach %', v;
    END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RETURN v;
END $$;

-- One mining call over all archives, once they hold all that was written.
CREATE FUNCTION kit.mine(low bigint, high bigint DEFAULT 0, options int DEFAULT 2128, wait boolean DEFAULT true) RETURNS SETOF "V$LOGMNR_CONTENTS"
LANGUAGE plpgsql AS $$
DECLARE
  file text;
  first boolean := true;
BEGIN
  IF wait THEN
    PERFORM kit.here();
  END IF;
  FOR file IN SELECT "PATH" FROM "V$ARCH_FILE" ORDER BY "ARCH_LSN" LOOP
    CALL dbms_logmnr.add_logfile(file, CASE WHEN first THEN 1 ELSE 3 END);
    first := false;
  END LOOP;
  CALL dbms_logmnr.start_logmnr(startscn => low, endscn => high, options => options);
  RETURN QUERY SELECT * FROM "V$LOGMNR_CONTENTS";
  CALL dbms_logmnr.end_logmnr();
END $$;

-- The transactions of one schema told line by line, xids named t1, t2, … in order of appearance. Others (the server's own) are
-- left out unless listed.
CREATE FUNCTION kit.story(schema text, low bigint, high bigint DEFAULT 0, extra bigint[] DEFAULT '{}', options int DEFAULT 2128) RETURNS text
LANGUAGE sql AS $$
  WITH m AS MATERIALIZED (
    SELECT row_number() OVER () AS place, ('x' || encode("XID", 'hex'))::bit(64)::bigint AS xid, * FROM kit.mine(low, high, options)),
  named AS (
    SELECT xid, 't' || row_number() OVER (ORDER BY min(place)) AS name FROM m
    GROUP BY xid HAVING bool_or("SEG_OWNER" = schema) OR xid = ANY (extra))
  SELECT string_agg(concat_ws(' ', n.name, m."OPERATION", CASE WHEN "ROLL_BACK" = 1 THEN '(undo)' END, "SQL_REDO"), E'\n' ORDER BY place)
  FROM m JOIN named n USING (xid)
$$;
