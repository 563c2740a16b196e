-- Random concurrent sessions with nested savepoints, key changes, rollbacks, failing statements and prepared transactions. The mined
-- texts themselves, run again transaction by transaction in commit order (undo rows like any other), give the tables.
CREATE SCHEMA "RND"; CREATE SCHEMA "COPY";
CREATE TABLE "RND"."K"("ID" int PRIMARY KEY, "V" varchar(200), "N" decimal(10,2), "D" double, "T" timestamp(6));
CREATE TABLE "RND"."N"("A" int, "B" clob);
CREATE TABLE "COPY"."K" (LIKE "RND"."K"); CREATE TABLE "COPY"."N" (LIKE "RND"."N");
CREATE PROCEDURE "RND".work(who int, rounds int) LANGUAGE plpgsql AS $$
DECLARE
  i int; j int; depth int; r double precision; fresh int := who * 1000000;
BEGIN
  PERFORM setseed(who / 100.0);
  FOR i IN 1 .. rounds LOOP
    BEGIN
      FOR j IN 1 .. (random() * 6)::int LOOP
        BEGIN
          fresh := fresh + 1;
          r := random();
          INSERT INTO "RND"."K" VALUES (fresh, 'it''s ' || r || E'\n\\ "AND" = ', r * 100, r / 3e7, clock_timestamp());
          UPDATE "RND"."K" SET "N" = "N" + 1, "V" = CASE WHEN random() < 0.1 THEN NULL ELSE "V" || ',' END WHERE "ID" = fresh - (random() * 5)::int AND "ID" / 1000000 = who;
          BEGIN
            INSERT INTO "RND"."N" VALUES (fresh, repeat('文x''', (random() * 1500)::int));
            UPDATE "RND"."N" SET "B" = 'b' WHERE "A" = fresh - (random() * 3)::int;
            IF random() < 0.3 THEN RAISE division_by_zero; END IF;
          EXCEPTION WHEN division_by_zero THEN NULL; END;
          IF random() < 0.2 THEN UPDATE "RND"."K" SET "ID" = -fresh WHERE "ID" = fresh; END IF;
          IF random() < 0.2 THEN DELETE FROM "RND"."K" WHERE "ID" = fresh - (random() * 4)::int; END IF;
          -- rows that all share
          IF random() < 0.5 THEN UPDATE "RND"."K" SET "D" = random() WHERE "ID" = 1 + (random() * 3)::int; END IF;
          IF random() < 0.1 THEN INSERT INTO "RND"."K" VALUES (1); END IF;
          IF random() < 0.2 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero OR unique_violation OR deadlock_detected THEN NULL; END;
      END LOOP;
    END;
    IF random() < 0.25 THEN ROLLBACK; ELSE COMMIT; END IF;
  END LOOP;
END $$;
SELECT kit.here() AS low \gset
INSERT INTO "RND"."K" SELECT g, 'shared', 0, 0, now() FROM generate_series(1, 4) g;
SELECT kit.open('w' || w) FROM generate_series(1, 6) w;
SELECT dblink_send_query('w' || w, format('CALL "RND".work(%s, 60)', w)) FROM generate_series(1, 6) w \g /dev/null
-- meanwhile: prepared transactions, and mining in windows as the log grows (each starts at the last scn seen)
CREATE TEMP TABLE mined(n bigserial, scn bigint, line text);
SELECT kit.open('p');
CREATE FUNCTION pg_temp.follow(low bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  e bigint := (SELECT max("CLSN") FROM "V$ARCH_FILE");
BEGIN
  DELETE FROM mined WHERE scn >= low;
  INSERT INTO mined(scn, line) SELECT "SCN", concat_ws('|', encode("XID", 'hex'), "OPERATION_CODE", "ROLL_BACK", "ROW_ID", "SSN", "SQL_REDO")
  FROM kit.mine(low, e) WHERE "SEG_OWNER" = 'RND' OR "OPERATION_CODE" IN (6, 7, 15, 36, 38);
  RETURN coalesce((SELECT max(scn) FROM mined), low);
END $$;
SELECT set_config('kit.low', :'low', false) \g /dev/null
DO $$
DECLARE
  at bigint := current_setting('kit.low')::bigint;
  rounds int := 0;
  busy boolean := true;
BEGIN
  WHILE busy LOOP
    rounds := rounds + 1;
    PERFORM kit.run('p', format('BEGIN; INSERT INTO "RND"."K" VALUES (%s, ''p''); SAVEPOINT s; INSERT INTO "RND"."K" VALUES (%s, ''p''); %s SAVEPOINT s; DELETE FROM "RND"."K" WHERE "ID" = %s',
      50000000 + rounds, 60000000 + rounds, CASE rounds % 3 WHEN 0 THEN 'ROLLBACK TO s;' WHEN 1 THEN 'RELEASE s;' ELSE '' END, 50000000 + rounds - 1));
    PERFORM kit.run('p', format('PREPARE TRANSACTION ''p%s''', rounds));
    at := pg_temp.follow(at);
    COMMIT;
    PERFORM kit.run('p', format('%s PREPARED ''p%s''', CASE rounds % 4 WHEN 0 THEN 'ROLLBACK' ELSE 'COMMIT' END, rounds));
    busy := EXISTS (SELECT FROM generate_series(1, 6) w WHERE public.dblink_is_busy('w' || w) = 1);
  END LOOP;
  PERFORM set_config('kit.at', at::text, false), set_config('kit.rounds', rounds::text, false);
END $$;
SELECT r.* FROM generate_series(1, 6) w, LATERAL dblink_get_result('w' || w) r(x text) \g /dev/null
SELECT kit.close('w' || w) FROM generate_series(1, 6) w; SELECT kit.close('p');
SELECT kit.here() \g /dev/null
SELECT pg_temp.follow(current_setting('kit.at')::bigint) \g /dev/null
SELECT kit.check(current_setting('kit.rounds')::int > 2, 'mined while the log grew: ' || current_setting('kit.rounds'));
CREATE TEMP TABLE whole AS SELECT row_number() OVER () AS n, "SCN" AS scn,
  concat_ws('|', encode("XID", 'hex'), "OPERATION_CODE", "ROLL_BACK", "ROW_ID", "SSN", "SQL_REDO") AS line
FROM kit.mine(:low, (SELECT max(scn) FROM mined)) WHERE "SEG_OWNER" = 'RND' OR "OPERATION_CODE" IN (6, 7, 15, 36, 38);
SELECT kit.same((SELECT string_agg(left(x::text, 200), E'\n') FROM (
  (SELECT 'only followed', scn, line FROM mined EXCEPT ALL SELECT 'only followed', scn, line FROM whole)
  UNION ALL (SELECT 'only whole', scn, line FROM whole EXCEPT ALL SELECT 'only whole', scn, line FROM mined) LIMIT 8) x), NULL, 'following the log gives what one look at the whole gives');
SELECT kit.check((SELECT array_agg(line ORDER BY n) FROM mined) = (SELECT array_agg(line ORDER BY n) FROM whole), 'and in the same order');

CREATE TEMP TABLE log AS SELECT row_number() OVER () AS n, "XID", "OPERATION_CODE" AS code, "ROLL_BACK" AS undo, "ROW_ID" AS row_id, "SEG_OWNER" AS owner, "SQL_REDO" AS redo, "SSN" AS ssn, "CSF" AS csf FROM kit.mine(:low);
SELECT kit.check(count(*) FILTER (WHERE undo = 1) > 50 AND count(*) FILTER (WHERE csf = 1) > 50 AND count(*) FILTER (WHERE code = 36) > 50
  AND count(*) FILTER (WHERE code = 38) > 1, 'the workload has everything in it: ' || count(*)) FROM log;
-- Each transaction: START first, one end, nothing after it (a prepared one: PRE_COMMIT, then its end).
SELECT kit.check(bool_and(ok), 'shape of transactions') FROM (
  SELECT string_agg(code::text, ' ' ORDER BY n) ~ '^6( [123])*( 7| 36| 15 38| 15 36)$' AS ok FROM log GROUP BY "XID") x;
DO $$
DECLARE
  t record;
  s record;
  touched bigint;
BEGIN
  SET LOCAL bytea_output = 'hex';
  FOR t IN SELECT "XID" AS x FROM log WHERE code IN (7, 38) ORDER BY n LOOP
    FOR s IN SELECT string_agg(redo, '' ORDER BY n) AS text, min(row_id) AS row_id
             FROM (SELECT *, sum((ssn = 0)::int) OVER (ORDER BY n) AS statement FROM log WHERE "XID" = t.x AND owner = 'RND') l
             GROUP BY statement ORDER BY min(n) LOOP
      EXECUTE replace(s.text, ' "RND".', ' "COPY".');
      GET DIAGNOSTICS touched = ROW_COUNT;
      -- What was undone on a row that others share was gone when the others wrote theirs, though they committed first.
      PERFORM kit.check(touched >= 1 OR EXISTS (SELECT FROM log l WHERE l."XID" = t.x AND l.row_id = s.row_id AND l.undo = 1
                                                AND s.text ~ '^UPDATE "RND"."K" SET "D" = .* WHERE "ID" = [1-4] '),
                        'a text that touches no row: ' || s.text);
    END LOOP;
  END LOOP;
END $$;
SELECT kit.same((SELECT count(*) FROM (TABLE "RND"."K" EXCEPT ALL TABLE "COPY"."K") x) + (SELECT count(*) FROM (TABLE "COPY"."K" EXCEPT ALL TABLE "RND"."K") x), 0::bigint, 'K again');
SELECT kit.same((SELECT count(*) FROM (TABLE "RND"."N" EXCEPT ALL TABLE "COPY"."N") x) + (SELECT count(*) FROM (TABLE "COPY"."N" EXCEPT ALL TABLE "RND"."N") x), 0::bigint, 'N again');

-- The other forms tell the same of the same log. Flagged: what is not flagged in committed transactions is what COMMITTED_DATA_ONLY gives, in its order.
SELECT max(scn) AS high FROM mined \gset
CREATE FUNCTION pg_temp.changes(low bigint, high bigint, options int) RETURNS TABLE (n bigint, x bytea, code int, undo int, text text) LANGUAGE sql AS $$
  SELECT row_number() OVER (), "XID", "OPERATION_CODE", "ROLL_BACK", concat_ws('|', encode("XID", 'hex'), "SCN", "SSN", "SQL_REDO") FROM kit.mine(low, high, options) $$;
UPDATE logminer.setting SET value = 'flagged' WHERE name = 'undo_form';
CREATE TEMP TABLE flagged AS SELECT * FROM pg_temp.changes(:low, :high, 2128);
UPDATE logminer.setting SET value = 'compensating' WHERE name = 'undo_form';
SELECT kit.check((SELECT array_agg(text ORDER BY n) FROM flagged WHERE undo = 0 AND code IN (1, 2, 3) AND x IN (SELECT x FROM flagged WHERE code IN (7, 38)))
  = (SELECT array_agg(text ORDER BY n) FROM pg_temp.changes(:low, :high, 2130) WHERE code IN (1, 2, 3)), 'flagged, and committed only');
-- By commit: the same rows, each transaction in one piece and in its own order, pieces in the order of their ends.
UPDATE logminer.setting SET value = 'commit' WHERE name = 'row_order';
CREATE TEMP TABLE by_commit AS SELECT * FROM pg_temp.changes(:low, :high, 2128);
UPDATE logminer.setting SET value = 'log' WHERE name = 'row_order';
CREATE TEMP TABLE by_log AS SELECT * FROM pg_temp.changes(:low, :high, 2128);
SELECT kit.check((SELECT array_agg(texts ORDER BY x) FROM (SELECT x, string_agg(md5(text), ',' ORDER BY n) AS texts FROM by_commit GROUP BY x) c)
  = (SELECT array_agg(texts ORDER BY x) FROM (SELECT x, string_agg(md5(text), ',' ORDER BY n) AS texts FROM by_log GROUP BY x) l), 'the same transactions');
SELECT kit.check(bool_and(last - first = rows - 1), 'in one piece') FROM (SELECT min(n) AS first, max(n) AS last, count(*) AS rows FROM by_commit GROUP BY x) c;
SELECT kit.check((SELECT array_agg(x ORDER BY n) FROM by_commit WHERE code IN (7, 38, 36)) = (SELECT array_agg(x ORDER BY n) FROM by_log WHERE code IN (7, 38, 36)), 'in the order of their ends');
