-- Errors by their conditions; number and text from DM8's message table, the number in brackets at the head.
SELECT "PATH" AS path FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE' \gset
SELECT set_config('kit.path', :'path', false) \g /dev/null
CREATE FUNCTION pg_temp.says(command text, expected text) RETURNS void LANGUAGE sql AS $$
  SELECT kit.same(kit.outcome(command), expected, command) $$;
SELECT pg_temp.says('SELECT count(*) FROM "V$LOGMNR_CONTENTS"',
  '[-2844] dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents');
SELECT pg_temp.says('CALL DBMS_LOGMNR.END_LOGMNR()', '[-2846] no LogMiner session is currently active');
SELECT pg_temp.says('CALL DBMS_LOGMNR.REMOVE_LOGFILE(LOGFILENAME => ''x'')', '[-2846] no LogMiner session is currently active');
SELECT pg_temp.says('CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => 0, OPTIONS => 2128)', '[-2847] no log file has been specified for the current LogMiner session');
SELECT pg_temp.says('CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => ''/no/such/file.log'', OPTIONS => 1)', '[-4546] [DBMS_LOGMNR.ADD_LOGFILE] File open failure');
SELECT pg_temp.says('CALL DBMS_LOGMNR.ADD_LOGFILE(''x'', 2)', '[-2849] cannot remove unlisted logfile');
SELECT pg_temp.says('CALL DBMS_LOGMNR.ADD_LOGFILE(''x'', 4)', '[-2850] para conflict');
CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :'path', OPTIONS => 1);
SELECT pg_temp.says('SELECT count(*) FROM "V$LOGMNR_CONTENTS"',
  '[-2844] dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents');
SELECT pg_temp.says(format('CALL DBMS_LOGMNR.ADD_LOGFILE(%L)', :'path'), '[-2848] cannot add duplicate logfile');
SELECT pg_temp.says('CALL DBMS_LOGMNR.ADD_LOGFILE(''x'', 2)', '[-2849] cannot remove unlisted logfile');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'path', 2);
SELECT pg_temp.says('CALL DBMS_LOGMNR.START_LOGMNR()', '[-2847] no log file has been specified for the current LogMiner session');
CALL DBMS_LOGMNR.ADD_LOGFILE(:'path');
CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => 1, ENDSCN => 2, OPTIONS => 2128);
SELECT pg_temp.says('CALL DBMS_LOGMNR.START_LOGMNR()', '[-2845] dbms_logmnr.end_logmnr() must be invoked before dbms_logmnr.start_logmnr() again');
SELECT pg_temp.says(format('CALL DBMS_LOGMNR.ADD_LOGFILE(%L, 3)', :'path'), '[-2853] Cannot add logfile after start_logmnr');
-- NEW ends the current LogMiner session and begins another (manual).
CALL DBMS_LOGMNR.ADD_LOGFILE(:'path', 1);
SELECT pg_temp.says('SELECT count(*) FROM "V$LOGMNR_CONTENTS"',
  '[-2844] dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents');
CALL DBMS_LOGMNR.END_LOGMNR();
SELECT pg_temp.says('CALL DBMS_LOGMNR.END_LOGMNR()', '[-2846] no LogMiner session is currently active');
SELECT kit.same((SELECT count(*) FROM "V$LOGMNR_LOGS"), 0::bigint, 'END forgets the files');
