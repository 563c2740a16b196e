-- V$TRX: every open transaction that has written, with the position of its START (manual: START_LSN).
CREATE SCHEMA "TRX";
CREATE TABLE "TRX"."T"("ID" int PRIMARY KEY);
CREATE FUNCTION pg_temp.start_of(x text) RETURNS bigint LANGUAGE sql AS 'SELECT "START_LSN" FROM "V$TRX" WHERE "ID" = x::bigint';
SELECT kit.open('a'); SELECT kit.open('b');
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN');
SELECT kit.same((SELECT count(*) FROM "V$TRX"), 0::bigint, 'nothing written: not there');
SELECT kit.run('a', 'SAVEPOINT s');
SELECT kit.run('a', 'INSERT INTO "TRX"."T" VALUES (1)');
SELECT kit.ask('a', 'SELECT pg_current_xact_id()') AS xa, kit.ask('a', 'SELECT pg_backend_pid()') AS pid \gset
SELECT pg_temp.start_of(:'xa') AS started \gset
SELECT kit.check(:started >= :low AND :started <= kit.here(), 'START_LSN');
SELECT kit.run('a', 'ROLLBACK TO s');
SELECT kit.same(pg_temp.start_of(:'xa'), :started::bigint, 'START_LSN after ROLLBACK TO');
SELECT kit.run('a', 'INSERT INTO "TRX"."T" VALUES (2)');
SELECT kit.run('a', 'ROLLBACK TO s');
SELECT kit.run('a', 'RELEASE s');
SELECT kit.run('a', 'INSERT INTO "TRX"."T" VALUES (3)');
SELECT kit.same((SELECT count(*) || ' ' || min("START_LSN") || ' ' || min("SESS_ID") || ' ' || min("STATUS") FROM "V$TRX"), format('1 %s %s ACTIVE', :'started', :'pid'), 'one row');
SELECT kit.run('b', 'BEGIN');
SELECT kit.run('b', 'DELETE FROM "TRX"."T" WHERE "ID" = 99');
SELECT kit.run('b', 'INSERT INTO "TRX"."T" VALUES (4)');
SELECT kit.same((SELECT count(*) FROM "V$TRX" WHERE "START_LSN" >= :started AND "MIN_ACTIVE_ID" = :xa), 2::bigint, 'two open');
SELECT kit.run('a', 'COMMIT'); SELECT kit.run('b', 'ROLLBACK');
SELECT kit.same((SELECT count(*) FROM "V$TRX"), 0::bigint, 'ended: gone, though the sessions go on');
-- START_LSN is at or before the START record and after everything earlier.
SELECT kit.check("SCN" >= :started, 'no record before START_LSN') FROM kit.mine(:low) WHERE "XID" = int8send(:xa);

-- A pooled session: many transactions, one lock each at most for a while, none shown once ended.
SELECT kit.run('a', 'DO $$ BEGIN FOR i IN 100 .. 3000 LOOP INSERT INTO "TRX"."T" VALUES (i); IF i % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF; END LOOP; END $$');
SELECT kit.same((SELECT count(*) FROM "V$TRX"), 0::bigint, 'after 2,901 transactions');
SELECT kit.check(count(*) < 400, 'the locks of ended transactions are released: ' || count(*)) FROM pg_locks WHERE locktype = 'advisory';
-- Many savepoints undone in one transaction.
SELECT kit.run('a', 'BEGIN');
SELECT kit.run('a', 'DO $$ BEGIN FOR i IN 10001 .. 13000 LOOP BEGIN INSERT INTO "TRX"."T" VALUES (i); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$');
SELECT kit.ask('a', 'SELECT pg_current_xact_id()') AS xa \gset
SELECT pg_temp.start_of(:'xa') AS started, kit.here() \gset
SELECT kit.check(min("SCN") BETWEEN :started AND :started + 8192, 'START_LSN after 3,000 undone savepoints') FROM kit.mine(:started) WHERE "XID" = int8send(:xa);
SELECT kit.run('a', 'ROLLBACK');

-- One that waits for a lock says so.
INSERT INTO "TRX"."T" VALUES (-1);
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'DELETE FROM "TRX"."T" WHERE "ID" = -1');
SELECT kit.run('b', 'BEGIN'); SELECT kit.run('b', 'INSERT INTO "TRX"."T" VALUES (-2)');
SELECT dblink_send_query('b', 'DELETE FROM "TRX"."T" WHERE "ID" = -1') \g /dev/null
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM "V$TRX" WHERE "STATUS" = 'LOCK WAIT') LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT kit.run('a', 'ROLLBACK');
SELECT * FROM dblink_get_result('b') r(x text) \g /dev/null
SELECT * FROM dblink_get_result('b') r(x text) \g /dev/null
SELECT kit.run('b', 'ROLLBACK');

-- Committed in the log and not yet visible (held by a standby that is not there): still in V$TRX.
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'INSERT INTO "TRX"."T" VALUES (60)');
SELECT kit.ask('a', 'SELECT pg_current_xact_id()') AS xa, kit.ask('a', 'SELECT pg_backend_pid()') AS pid \gset
SET synchronous_commit = local;
ALTER SYSTEM SET synchronous_standby_names = 'nobody';
SELECT pg_reload_conf() \g /dev/null
-- The server heeds it once its checkpointer has read it: b commits until it is held.
CREATE FUNCTION pg_temp.held(pid int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
  RETURN EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = held.pid AND wait_event = 'SyncRep');
END $$;
DO $$
DECLARE
  b int := kit.ask('b', 'SELECT pg_backend_pid()');
BEGIN
  LOOP
    PERFORM public.dblink_send_query('b', 'DELETE FROM "TRX"."T" WHERE "ID" = (SELECT min("ID") FROM "TRX"."T")');
    WHILE public.dblink_is_busy('b') = 1 LOOP
      IF pg_temp.held(b) THEN RETURN; END IF;
    END LOOP;
    PERFORM x FROM public.dblink_get_result('b') r(x text);
    PERFORM x FROM public.dblink_get_result('b') r(x text);
  END LOOP;
END $$;
SELECT dblink_send_query('a', 'COMMIT') \g /dev/null
SELECT set_config('kit.pid', :'pid', false) \g /dev/null
DO $$ BEGIN WHILE NOT pg_temp.held(current_setting('kit.pid')::int) LOOP NULL; END LOOP; END $$;
SELECT kit.same((SELECT count(*) FROM kit.mine(:low) WHERE "XID" = int8send(:xa) AND "OPERATION_CODE" = 7), 1::bigint, 'its COMMIT can be mined');
SELECT kit.same((SELECT count(*) FROM "TRX"."T" WHERE "ID" = 60), 0::bigint, 'it is not visible');
SELECT kit.same((SELECT count(*) FROM "V$TRX" WHERE "ID" = :xa), 1::bigint, 'it is open');
ALTER SYSTEM RESET synchronous_standby_names;
SELECT pg_reload_conf() \g /dev/null
SELECT * FROM dblink_get_result('a') r(x text) \g /dev/null
SELECT * FROM dblink_get_result('a') r(x text) \g /dev/null
SELECT * FROM dblink_get_result('b') r(x text) \g /dev/null
SELECT * FROM dblink_get_result('b') r(x text) \g /dev/null
RESET synchronous_commit;
SELECT kit.same((SELECT count(*) FROM "V$TRX" WHERE "ID" = :xa) || ' ' || (SELECT count(*) FROM "TRX"."T" WHERE "ID" = 60), '0 1', 'visible and gone');

-- A prepared transaction stays, with its START, when its session has gone.
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'INSERT INTO "TRX"."T" VALUES (50)');
SELECT kit.ask('a', 'SELECT pg_current_xact_id()') AS xa \gset
SELECT pg_temp.start_of(:'xa') AS started \gset
SELECT kit.run('a', 'PREPARE TRANSACTION ''p''');
SELECT kit.same((SELECT "STATUS" || "START_LSN" FROM "V$TRX" WHERE "ID" = :xa), 'PRE_COMMIT' || :'started', 'prepared');
SELECT kit.ask('a', 'SELECT pg_backend_pid()') AS pid \gset
SELECT kit.close('a');
DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_locks l WHERE locktype = 'advisory' AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = l.pid)) LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$;
SELECT kit.same(pg_temp.start_of(:'xa'), (SELECT "SCN" FROM kit.mine(:low) WHERE "XID" = int8send(:xa) AND "OPERATION_CODE" = 6), 'its session gone');
ROLLBACK PREPARED 'p';
SELECT kit.same((SELECT count(*) FROM "V$TRX"), 0::bigint, 'none left');
SELECT kit.close('b');
