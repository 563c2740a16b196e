-- A LogMiner session belongs to its connection and is no part of a transaction.
SELECT "PATH" AS path FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE' \gset
BEGIN;
CALL DBMS_LOGMNR.ADD_LOGFILE(:'path', 1);
CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => 1, ENDSCN => 2, OPTIONS => 2128);
ROLLBACK;
SELECT kit.same((SELECT count(*) FROM "V$LOGMNR_CONTENTS"), 0::bigint, 'started in a transaction rolled back');
SELECT kit.same((SELECT string_agg("FILENAME", ',') FROM "V$LOGMNR_LOGS"), :'path', 'files too');
-- An error, and END still works, also when its own transaction is rolled back.
SELECT kit.outcome('SELECT 1/0') \g /dev/null
BEGIN;
CALL DBMS_LOGMNR.END_LOGMNR();
ROLLBACK;
SELECT kit.same(kit.outcome('CALL DBMS_LOGMNR.END_LOGMNR()'), '[-2846] no LogMiner session is currently active', 'ended');
-- Sessions do not see one another's.
SELECT kit.open('a');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'path', 1);
SELECT kit.same(kit.ask('a', 'SELECT kit.outcome(''CALL DBMS_LOGMNR.START_LOGMNR()'')'), '[-2847] no log file has been specified for the current LogMiner session', 'another session');
CALL DBMS_LOGMNR.END_LOGMNR();
SELECT kit.close('a');
