-- STARTSCN and ENDSCN cut by the records' own scn, both inclusive; 0 is unlimited (manual; inclusive ENDSCN not measured).
-- Any cut into windows gives the rows of the whole, whatever was remembered before; and so with coarse scns.
CREATE SCHEMA "WIN";
CREATE TABLE "WIN"."T"("ID" int PRIMARY KEY, "V" varchar(3000));
CREATE FUNCTION pg_temp.digest(low bigint, high bigint) RETURNS TABLE (scn bigint, line text) LANGUAGE sql AS $$
  SELECT "SCN", concat_ws('|', encode("XID", 'hex'), "OPERATION_CODE", "ROLL_BACK", "TABLE_NAME", "ROW_ID", "SQL_REDO", "RS_ID", "SSN", "CSF", "RBASQN", "RBABLK", "RBABYTE", "START_SCN", "TIMESTAMP")
  FROM kit.mine(low, high) $$;
SET client_min_messages = warning;
SELECT kit.here() AS low \gset
DO $$
BEGIN
  PERFORM setseed(0.42);
  FOR i IN 1 .. 300 LOOP
    INSERT INTO "WIN"."T" VALUES (i, repeat('v', (random() * 3000)::int));
    BEGIN
      UPDATE "WIN"."T" SET "V" = 'w' WHERE "ID" = (random() * i)::int;
      BEGIN
        DELETE FROM "WIN"."T" WHERE "ID" = (random() * i)::int;
        IF random() < 0.3 THEN RAISE division_by_zero; END IF;
      EXCEPTION WHEN division_by_zero THEN NULL; END;
      IF random() < 0.3 THEN RAISE division_by_zero; END IF;
    EXCEPTION WHEN division_by_zero THEN NULL; END;
    IF random() < 0.2 THEN ROLLBACK; ELSIF random() < 0.7 THEN COMMIT; END IF;
  END LOOP;
END $$;
SELECT kit.here() AS high \gset
CREATE TEMP TABLE whole AS SELECT row_number() OVER () AS n, * FROM pg_temp.digest(:low, :high);
SELECT kit.check(count(*) > 500 AND count(*) FILTER (WHERE split_part(line, '|', 3) = '1') > 50, 'a workload with undo: ' || count(*)) FROM whole;

-- Cut at random places, on and off the records.
CREATE FUNCTION pg_temp.cut(low bigint, high bigint, pieces int, seed double precision) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  bounds bigint[];
  lost int;
  found int;
BEGIN
  PERFORM setseed(seed);
  SELECT array_agg(b ORDER BY b) INTO bounds FROM (
    SELECT low + (random() * (high - low))::bigint AS b FROM generate_series(1, pieces / 2)
    UNION SELECT scn FROM (SELECT scn FROM whole ORDER BY random() LIMIT pieces / 2) s
    UNION SELECT high) c;
  DROP TABLE IF EXISTS piecemeal;
  CREATE TEMP TABLE piecemeal AS
    SELECT d.* FROM (SELECT coalesce(lag(b) OVER (ORDER BY b) + 1, low) AS lo, b AS hi FROM unnest(bounds) b) w, LATERAL pg_temp.digest(w.lo, w.hi) d;
  SELECT count(*) INTO found FROM piecemeal;
  SELECT count(*) INTO lost FROM (SELECT scn, line FROM whole EXCEPT ALL SELECT scn, line FROM piecemeal) x;
  RETURN format('%s found, %s lost', found, lost) || coalesce((SELECT string_agg(left(x::text, 200), E'\n')
    FROM ((SELECT 'lost', scn, line FROM whole EXCEPT ALL SELECT 'lost', scn, line FROM piecemeal)
          UNION ALL (SELECT 'more', scn, line FROM piecemeal EXCEPT ALL SELECT 'more', scn, line FROM whole) LIMIT 6) x), '');
END $$;
SELECT kit.same(pg_temp.cut(:low, :high, 24, seed), (SELECT format('%s found, 0 lost', count(*)) FROM whole), 'windows cut with seed ' || seed)
FROM unnest(ARRAY[0.1, 0.2, 0.3]) seed;
-- Any start alone gives what the whole has from there on, in the same order.
SELECT kit.check((SELECT array_agg(line) FROM pg_temp.digest(s.scn, :high)) = (SELECT array_agg(w.line ORDER BY w.n) FROM whole w WHERE w.scn >= s.scn), 'from ' || s.scn)
FROM (SELECT scn FROM whole ORDER BY md5(n::text) LIMIT 8) s;
-- With everything remembered forgotten, and with the nearest state used: no difference.
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f logminer/state-*';
SELECT kit.check((SELECT array_agg(line) FROM pg_temp.digest(s.scn, :high)) = (SELECT array_agg(w.line ORDER BY w.n) FROM whole w WHERE w.scn >= s.scn), 'without states from ' || s.scn)
FROM (SELECT scn FROM whole ORDER BY md5(n::text) LIMIT 3) s;
SELECT kit.check(count(*) = 1, 'inclusive at both ends') FROM (SELECT scn FROM whole WHERE split_part(line, '|', 2) = '1' LIMIT 1) s, LATERAL pg_temp.digest(s.scn, s.scn) d;
SELECT kit.same((SELECT count(*) FROM pg_temp.digest(:high, :low)), 0::bigint, 'upside down');

-- Coarse scns (lever): several records and commits share one; order, windows and CLSN hold.
UPDATE logminer.setting SET value = '16384' WHERE name = 'granularity';
SELECT :low / 16384 AS low, :high / 16384 AS high \gset
SELECT kit.check((SELECT array_agg(regexp_replace(line, '\|\d+\|[^|]*$', '')) FROM pg_temp.digest(:low, :high) WHERE line LIKE '%|T|%')
  = (SELECT array_agg(regexp_replace(line, '\|\d+\|[^|]*$', '') ORDER BY n) FROM whole WHERE line LIKE '%|T|%'), 'coarse: the same rows in the same order');
DROP TABLE whole;
CREATE TEMP TABLE whole AS SELECT row_number() OVER () AS n, * FROM pg_temp.digest(:low, :high);
SELECT kit.check(max(c) > 2, 'commits share an scn') FROM (SELECT count(*) AS c FROM whole WHERE split_part(line, '|', 2) = '7' GROUP BY scn) x;
SELECT kit.same(pg_temp.cut(:low, :high, 24, seed), (SELECT format('%s found, 0 lost', count(*)) FROM whole), 'coarse windows cut with seed ' || seed) FROM unnest(ARRAY[0.5, 0.6]) seed;
SELECT kit.check("ARCH_LSN" <= "CLSN" AND "CLSN" <= (SELECT "CUR_LSN" FROM "V$RLOG"), 'coarse archives') FROM "V$ARCH_FILE";
UPDATE logminer.setting SET value = '1' WHERE name = 'granularity';
