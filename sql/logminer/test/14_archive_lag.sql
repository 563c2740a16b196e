-- CLSN may stay behind CUR_LSN (measured: latency is the archive's flush). CLSN claims only what can be mined; what is not
-- flushed is not mined; the archiver brings it up by itself, without a transaction of its own.
CREATE SCHEMA "LAG";
CREATE TABLE "LAG"."T"("ID" int PRIMARY KEY);
CREATE FUNCTION pg_temp.e() RETURNS bigint LANGUAGE sql AS 'SELECT max("CLSN") FROM "V$ARCH_FILE"';
CREATE FUNCTION pg_temp.v() RETURNS bigint LANGUAGE sql AS 'SELECT "CUR_LSN" FROM "V$RLOG"';
SELECT kit.open('a');
SELECT kit.here() AS low \gset
UPDATE logminer.setting SET value = 'hold' WHERE name = 'archiver';
-- A transaction that is not ended flushes nothing by itself (a small one; the log writer takes full pages).
SELECT kit.here() AS v \gset
SELECT kit.run('a', 'BEGIN');
SELECT kit.run('a', 'INSERT INTO "LAG"."T" VALUES (1)');
SELECT kit.check(pg_temp.e() < pg_temp.v(), 'E is behind V: ' || pg_temp.e() || ' ' || pg_temp.v());
SELECT kit.check(pg_temp.v() > :v, 'V moves with every record');
SELECT pg_temp.e() AS e, (SELECT count(*) FROM kit.mine(:v, wait => false)) AS mined \gset
SELECT kit.check(:mined = 0, 'what is not on disk is not mined');
-- Everything at or below E is there: no later mining finds a row at or below it.
UPDATE logminer.setting SET value = 'on' WHERE name = 'archiver';
SELECT kit.here() \g /dev/null
SELECT kit.check(count(*) >= 2 AND min("SCN") > :e, 'now it is, beyond the E of before') FROM kit.mine(:v) WHERE "SEG_OWNER" = 'LAG' OR "OPERATION_CODE" = 6;
SELECT kit.run('a', 'ROLLBACK');
-- The archiver adds no row to the log, and no position on an idle database.
SELECT kit.here() AS v \gset
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'INSERT INTO "LAG"."T" VALUES (2)');
SELECT kit.here() \g /dev/null
SELECT kit.same((SELECT string_agg("OPERATION", ' ') FROM kit.mine(:v)), 'START INSERT', 'no transaction of the archiver');
SELECT kit.run('a', 'ROLLBACK');
SELECT kit.close('a');
-- When the last record ends with its page, the insert position stands behind the next page's header, which nobody has
-- written: everything is flushed all the same.
UPDATE logminer.setting SET value = 'hold' WHERE name = 'archiver';
DO $$
DECLARE
  begins pg_lsn;
  rest bigint;
  frame bigint;      -- what a record takes beside its content, page headers aside
BEGIN
  FOR attempt IN 1 .. 1000 LOOP
    begins := pg_current_wal_insert_lsn();
    frame := (pg_logical_emit_message(false, 'fill', repeat('x', 504)) - begins)::bigint - 504;
    rest := 8192 - logminer.bytes(pg_current_wal_insert_lsn()) % 8192;
    CONTINUE WHEN frame > 80 OR rest < 600 OR rest > 8000;
    PERFORM pg_logical_emit_message(false, 'fill', repeat('x', (rest - frame)::int));
    EXIT WHEN logminer.bytes(pg_current_wal_insert_lsn()) % 8192 = 24;
  END LOOP;
  PERFORM kit.check(logminer.bytes(pg_current_wal_insert_lsn()) % 8192 = 24, 'a record that ends with its page');
END $$;
SELECT kit.here() \g /dev/null
SELECT kit.check(logminer.bytes(pg_current_wal_insert_lsn()) % 8192 = 24 AND logminer.bytes(pg_current_wal_flush_lsn()) % 8192 = 0 AND pg_temp.e() = pg_temp.v(), 'all flushed at the end of a page');
UPDATE logminer.setting SET value = 'on' WHERE name = 'archiver';
-- Coarse: while something unflushed may stand in E's scn, E is one less; flushed, E reaches V.
UPDATE logminer.setting SET value = '65536' WHERE name = 'granularity';
SELECT kit.here() \g /dev/null
SELECT kit.same(pg_temp.e(), pg_temp.v(), 'coarse: all flushed');
UPDATE logminer.setting SET value = 'hold' WHERE name = 'archiver';
SELECT kit.here() \g /dev/null
BEGIN;
INSERT INTO "LAG"."T" VALUES (3);
SELECT kit.check(pg_temp.e() < pg_temp.v(), 'coarse: a record not flushed in the same scn');
ROLLBACK;
UPDATE logminer.setting SET value = 'on' WHERE name = 'archiver';
UPDATE logminer.setting SET value = '1' WHERE name = 'granularity';
SELECT kit.here() \g /dev/null
