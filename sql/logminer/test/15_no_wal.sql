-- Mining writes no log: on an idle database the position stays.
CREATE SCHEMA "IDLE";
CREATE TABLE "IDLE"."T"("ID" int PRIMARY KEY, "V" varchar(1000));
SELECT kit.here() AS low \gset
INSERT INTO "IDLE"."T" SELECT g, repeat('z', 900) FROM generate_series(1, 3000) g;
BEGIN; INSERT INTO "IDLE"."T" VALUES (-1, 'open');
SAVEPOINT a; DELETE FROM "IDLE"."T" WHERE "ID" < 2000; ROLLBACK TO a;
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f logminer/state-*';
-- what else writes now and then: let it be done before (pruning of catalogue pages, standby snapshot, checkpoint)
SELECT count(*) FROM kit.mine(:low) \g /dev/null
ROLLBACK;
VACUUM;
CHECKPOINT;
SELECT kit.here() AS v \gset
SELECT count(*) FROM kit.mine(:low) \g /dev/null
SELECT count(*) FROM kit.mine(:low, :v, 0) \g /dev/null
SELECT count(*) FROM "V$ARCH_FILE", "V$RLOG", "V$DATABASE", "V$INSTANCE", "V$DM_INI", "ALL_TAB_COLUMNS" \g /dev/null
SELECT count(*) FROM "V$TRX" \g /dev/null
SELECT kit.outcome('CALL DBMS_LOGMNR.END_LOGMNR()') \g /dev/null
SELECT kit.check(count(*) > 0, 'states were written') FROM logminer.state_files();
SELECT kit.same((SELECT "CUR_LSN" FROM "V$RLOG"), :v::bigint, 'the position after mining');
SELECT kit.same(pg_current_xact_id_if_assigned(), NULL, 'no xid');
