-- Switch, hold, purge, faults of archives; the views that show them (manual).
CREATE SCHEMA "AL";
CREATE TABLE "AL"."T"("ID" int PRIMARY KEY);
SELECT "PATH" AS one FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE' \gset
INSERT INTO "AL"."T" VALUES (1);
CALL logminer.switch();
CALL logminer.switch();
INSERT INTO "AL"."T" VALUES (2);
SELECT kit.here() AS here, "PATH" AS three FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE' \gset
SELECT kit.check(count(*) = 1, 'switched twice, though nothing was written in between') FROM "V$ARCH_FILE" WHERE "PATH" > :'one' AND "PATH" < :'three';
SELECT "PATH" AS two FROM "V$ARCH_FILE" WHERE "PATH" > :'one' AND "PATH" < :'three' \gset
-- What is remembered of the log may lie in what a switch has left of a file, where no record begins: what follows is there.
SELECT kit.check(logminer.state_save('0/0'::pg_lsn + ("PREV_LSN" - 1)::numeric, '{"tops": [], "subs": []}'), 'remembered') FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE';
SELECT kit.same((SELECT string_agg(m."SQL_REDO", ' ') FROM kit.mine((SELECT "PREV_LSN" FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE')) m WHERE m."SEG_OWNER" = 'AL'),
  'INSERT INTO "AL"."T"("ID") VALUES(2)', 'behind a switch');
-- V$ARCHIVED_LOG: NEXT_CHANGE# is the largest position in the file (manual), a missing archive a jump in SEQUENCE#.
SELECT kit.check(count(*) = count(l."NAME") AND bool_and(l."FIRST_CHANGE#" = f."ARCH_LSN" AND (l."NEXT_CHANGE#" = f."CLSN" OR f."STATUS" = 'ACTIVE') AND l."SEQUENCE#" = f."ARCH_SEQ"
  AND l."ARCHIVED" = 'YES' AND l."DELETED" = 'NO' AND l."STATUS" = 'A' AND l."THREAD#" = 0 AND l."RECID" IS NULL), 'V$ARCHIVED_LOG')
FROM "V$ARCH_FILE" f LEFT JOIN "V$ARCHIVED_LOG" l ON l."NAME" = f."PATH";
SELECT kit.check(count(*) = 0, 'no jump') FROM (SELECT "SEQUENCE#" - lag("SEQUENCE#") OVER (ORDER BY "SEQUENCE#") AS step FROM "V$ARCHIVED_LOG") s WHERE step <> 1;
-- Held and released.
CALL logminer.hold();
SELECT kit.here() \g /dev/null
BEGIN; INSERT INTO "AL"."T" VALUES (3);
SELECT kit.check((SELECT max("CLSN") FROM "V$ARCH_FILE") < (SELECT "CUR_LSN" FROM "V$RLOG"), 'held');
ROLLBACK;
CALL logminer.release();
SELECT kit.here() \g /dev/null
-- Faults of one archive.
CREATE FUNCTION pg_temp.add(path text) RETURNS text LANGUAGE sql AS $$ SELECT kit.outcome(format('CALL DBMS_LOGMNR.ADD_LOGFILE(%L, 1)', path)) $$;
CREATE FUNCTION pg_temp.listed(path text) RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM "V$ARCH_FILE" WHERE "PATH" = path $$;
CALL logminer.fault(:'two', 'lost');
SELECT kit.same(pg_temp.listed(:'two') || ' ' || pg_temp.add(:'two'), '1 [-4546] [DBMS_LOGMNR.ADD_LOGFILE] File open failure', 'deleted but listed');
CALL logminer.fault(:'two', 'unlisted');
SELECT kit.same(pg_temp.listed(:'two') || ' ' || pg_temp.add(:'two'), '0 [-4546] [DBMS_LOGMNR.ADD_LOGFILE] File open failure', 'a gap');
SELECT kit.check(count(*) = 1, 'a jump') FROM (SELECT "SEQUENCE#" - lag("SEQUENCE#") OVER (ORDER BY "SEQUENCE#") AS step FROM "V$ARCHIVED_LOG") s WHERE step = 2;
CALL logminer.fault(:'two', 'duplicate');
SELECT kit.same(pg_temp.listed(:'two'), 2::bigint, 'listed twice');
CALL logminer.fault(:'two', 'none');
SELECT kit.same(pg_temp.listed(:'two') || ' ' || pg_temp.add(:'two'), '1 ok', 'there again');
-- Lost between START and SELECT.
CALL DBMS_LOGMNR.START_LOGMNR(OPTIONS => 2128);
CALL logminer.fault(:'two', 'lost');
SELECT kit.same(kit.outcome('SELECT count(*) FROM "V$LOGMNR_CONTENTS"'), '[-4546] [V$LOGMNR_CONTENTS] File open failure', 'lost after START');
CALL DBMS_LOGMNR.END_LOGMNR();
CALL logminer.fault(:'two', 'none');
-- The session's files and parameters; REMOVE_LOGFILE and option 2.
SELECT kit.same((SELECT count(*) FROM "V$LOGMNR_PARAMETERS"), 0::bigint, 'not started');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'one', 1);
CALL DBMS_LOGMNR.ADD_LOGFILE(:'two');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'three', 3);
CALL DBMS_LOGMNR.REMOVE_LOGFILE(LOGFILENAME => :'two');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'one', 2);
CALL DBMS_LOGMNR.ADD_LOGFILE(:'one');
SELECT kit.same((SELECT string_agg("LOG_ID" || ' ' || "FILENAME" || ' ' || "TYPE" || ' ' || "BLOCKSIZE", ',' ORDER BY "LOG_ID") FROM "V$LOGMNR_LOGS"),
  format('0 %s ARCHIVED 512,1 %s ARCHIVED 512', :'three', :'one'), 'files of the session, from 0');
SELECT kit.check(bool_and(l."LOW_SCN" = f."ARCH_LSN" AND (l."NEXT_SCN" = f."CLSN" OR f."STATUS" = 'ACTIVE') AND l."THREAD_SQN" = f."ARCH_SEQ"), 'their ranges')
FROM "V$LOGMNR_LOGS" l LEFT JOIN "V$ARCH_FILE" f ON f."PATH" = l."FILENAME";
CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => 5, ENDSCN => 9, OPTIONS => 2128);
SELECT kit.same((SELECT concat_ws(' ', "START_SCN", "END_SCN", "OPTIONS", "START_DATE", "END_DATE", "REQUIRED_START_SCN", "STATUS") FROM "V$LOGMNR_PARAMETERS"),
  '5 9 2128 1988-01-01 00:00:00 2110-12-31 00:00:00 0 0', 'parameters of the session');
CALL DBMS_LOGMNR.END_LOGMNR();
-- V$LSN_TIME: filled by the archiver every 3 s.
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM "V$LSN_TIME") LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT kit.check(bool_and("LSN" <= (SELECT "CUR_LSN" FROM "V$RLOG") AND "TIME_DP" = (to_timestamp("TIME_MP") AT TIME ZONE 'UTC')::timestamp(0)
  AND to_timestamp("TIME_MP") > now() - interval '1 hour'), 'V$LSN_TIME') FROM "V$LSN_TIME";
SELECT kit.same((SELECT "ARCH_NAME" || "ARCH_TYPE" || "ARCH_FILE_SIZE" || ("ARCH_DEST" = regexp_replace(:'one', '/[^/]*$', '')) FROM "V$DM_ARCH_INI"), 'ARCHIVE_LOCAL1LOCAL16true', 'V$DM_ARCH_INI');
-- The package, made and dropped.
SELECT kit.same(SF_CHECK_SYSTEM_PACKAGE('DBMS_LOGMNR'), 1, 'there');
BEGIN; CALL SP_CREATE_SYSTEM_PACKAGES(0, 'DBMS_LOGMNR');
SELECT kit.same(SF_CHECK_SYSTEM_PACKAGE('DBMS_LOGMNR') || (SELECT "IS_VALID" FROM "V$SYSTEM_PACKAGES" WHERE "NAME" = 'DBMS_LOGMNR'), '0N', 'dropped');
CALL SP_CREATE_SYSTEM_PACKAGES(1, 'DBMS_LOGMNR');
SELECT kit.same(SF_CHECK_SYSTEM_PACKAGE('DBMS_LOGMNR'), 1, 'made'); ROLLBACK;
-- Purged by the server: not listed, in the history, -4546 when added; what is left serves on.
BEGIN;
SELECT count(*) AS before, max("ARCH_LSN") FILTER (WHERE "PATH" = :'two') AS kept FROM "V$ARCH_FILE" \gset
CALL logminer.purge(:kept);
SELECT kit.check(count(*) = 2 AND min("PATH") = :'two' AND min("PREV_LSN") > 0, 'two are left') FROM "V$ARCH_FILE";
SELECT kit.check(count(*) = :before - 2 AND max("PATH") = :'one' AND bool_and("LSN" > "ARCH_LSN" AND "DELETE_TIME" IS NOT NULL), 'V$ARCH_FILE_HISTORY') FROM "V$ARCH_FILE_HISTORY";
SELECT kit.same(pg_temp.add(:'one'), '[-4546] [DBMS_LOGMNR.ADD_LOGFILE] File open failure', 'purged');
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(0, :here, wait => false) WHERE "SEG_OWNER" = 'AL'), 'INSERT INTO "AL"."T"("ID") VALUES(2)', 'what is left');
CALL logminer.purge();
SELECT kit.same((SELECT string_agg("STATUS", '') FROM "V$ARCH_FILE"), 'ACTIVE', 'never the active one');
ROLLBACK;
SELECT kit.same(pg_temp.listed(:'one'), 1::bigint, 'undone with its transaction');
