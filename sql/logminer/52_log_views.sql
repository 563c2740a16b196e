-- The system views about archives, sessions and times. Columns and their order as in DM8's view dictionary; what it calls
-- reserved is NULL, its constants are what it says.

-- NEXT_CHANGE# is the largest position in the file, not the next one. APPLIED belongs to standbys.
CREATE VIEW "SYS"."V$ARCHIVED_LOG" AS
SELECT NULL::bigint AS "RECID", NULL::bigint AS "STAMP", a.path::varchar(513) AS "NAME", NULL::bigint AS "DEST_ID", 0::bigint AS "THREAD#",
       a.number AS "SEQUENCE#", NULL::bigint AS "RESETLOGS_CHANGE#", NULL::timestamp(0) AS "RESETLOGS_TIME", NULL::bigint AS "RESETLOGS_ID",
       logminer.scn(a.first_lsn, logminer.granularity()) AS "FIRST_CHANGE#",
       (a.created AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "FIRST_TIME", a.clsn AS "NEXT_CHANGE#",
       (a.closed AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "NEXT_TIME",
       NULL::bigint AS "BLOCKS", NULL::bigint AS "BLOCK_SIZE", NULL::varchar(7) AS "CREATOR", NULL::varchar(7) AS "REGISTRAR",
       NULL::varchar(3) AS "STANDBY_DEST", 'YES'::varchar(3) AS "ARCHIVED", 'NO'::varchar(9) AS "APPLIED", 'NO'::varchar(3) AS "DELETED",
       'A'::varchar(1) AS "STATUS", NULL::timestamp(0) AS "COMPLETION_TIME", NULL::varchar(3) AS "DICTIONARY_BEGIN",
       NULL::varchar(3) AS "DICTIONARY_END", NULL::varchar(3) AS "END_OF_REDO", NULL::bigint AS "BACKUP_COUNT",
       NULL::bigint AS "ARCHIVAL_THREAD#", NULL::bigint AS "ACTIVATION#", 'NO'::varchar(3) AS "IS_RECOVERY_DEST_FILE",
       NULL::varchar(3) AS "COMPRESSED", NULL::varchar(3) AS "FAL", NULL::varchar(10) AS "END_OF_REDO_TYPE", NULL::varchar(3) AS "BACKED_BY_VSS",
       'LOCAL'::varchar(20) AS "ARCH_TYPE", 0 AS "EP_SEQNO", a.number AS "ARCH_SEQ", a.number AS "NEXT_SEQ", NULL::varchar(20) AS "VERSION"
FROM logminer.archives() a;

-- Files that the server deleted by itself, since it was started.
CREATE VIEW "SYS"."V$ARCH_FILE_HISTORY" AS
SELECT 0 AS "DSC_SEQNO", logminer.magic() AS "SRC_DB_MAGIC", logminer.magic() AS "PMNT_MAGIC", logminer.magic() AS "DB_MAGIC",
       (p.created AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "CREATE_TIME",
       (p.closed AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "CLOSE_TIME",
       (p.deleted AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "DELETE_TIME",
       logminer.segment_size() AS "LEN", logminer.segment_size() AS "FREE",
       p.number * logminer.segment_size() / logminer.granularity() AS "ARCH_LSN",
       ((p.number + 1) * logminer.segment_size() - 1) / logminer.granularity() AS "LSN", p.number AS "ARCH_SEQ", p.number AS "NEXT_SEQ",
       p.name::varchar(512) AS "PATH"
FROM logminer.purged p
WHERE logminer.ini('ENABLE_MONITOR') = '1' AND p.deleted > pg_postmaster_start_time();

CREATE FUNCTION logminer.archive_directory() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$ SELECT current_setting('data_directory') || '/pg_wal' $$;

CREATE VIEW "SYS"."V$DM_ARCH_INI" AS
SELECT 'ARCHIVE_LOCAL1'::varchar(128) AS "ARCH_NAME", 'LOCAL'::varchar(20) AS "ARCH_TYPE", logminer.archive_directory()::varchar(256) AS "ARCH_DEST",
       (logminer.segment_size() / 1048576)::integer AS "ARCH_FILE_SIZE", 0 AS "ARCH_SPACE_LIMIT", 1 AS "ARCH_HANG_FLAG",
       NULL::varchar(128) AS "ARCH_TIMER_NAME", 'Y'::varchar(1) AS "ARCH_IS_VALID", NULL::integer AS "ARCH_WAIT_APPLY",
       NULL::varchar(256) AS "ARCH_INCOMING_PATH", NULL::varchar(256) AS "ARCH_CURR_DEST", 2 AS "ARCH_FLUSH_BUF_SIZE", 0 AS "ARCH_RESERVE_TIME",
       NULL::integer AS "ARCH_LOCAL_SHARE", NULL::integer AS "ARCH_LOCAL_SHARE_CHECK", 0 AS "ARCH_SEND_DELAY",
       NULL::varchar(128) AS "ARCH_DEST_IP", NULL::integer AS "ARCH_DEST_PORT", NULL::integer AS "ARCH_DEST_ID", NULL::integer AS "ARCH_ASM_MIRROR",
       NULL::integer AS "ARCH_ASM_STRIPING", NULL::integer AS "ARCH_RECOVER_TIME"
WHERE logminer.ini('ARCH_INI') = '1';

-- Every 3 s by the archiver, into a file (mining and watching write no log); forgotten at a restart.
CREATE FUNCTION logminer.lsn_times(OUT moment double precision, OUT scn bigint) RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT split_part(line, ' ', 1)::double precision, split_part(line, ' ', 2)::bigint / logminer.granularity()
  FROM string_to_table(pg_read_file('logminer/lsn_time', 0, 100000000, true), E'\n') line
  WHERE line <> '' AND split_part(line, ' ', 1)::double precision BETWEEN extract(epoch FROM pg_postmaster_start_time())
    AND extract(epoch FROM now()) + 432000
    AND split_part(line, ' ', 1)::double precision > extract(epoch FROM now()) - 432000
$$;

CREATE VIEW "SYS"."V$LSN_TIME" AS
SELECT floor(t.moment)::bigint AS "TIME_MP", (to_timestamp(floor(t.moment)) AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "TIME_DP",
       t.scn AS "LSN"
FROM logminer.lsn_times() t;

CREATE VIEW "SYS"."V$LOGMNR_PARAMETERS" AS
SELECT (s ->> 'starttime')::timestamp(0) AS "START_DATE", NULL::timestamp(0) AS "REQUIRED_START_DATE",
       (s ->> 'endtime')::timestamp(0) AS "END_DATE", (s ->> 'startscn')::bigint AS "START_SCN", 0::bigint AS "REQUIRED_START_SCN",
       (s ->> 'endscn')::bigint AS "END_SCN", (s ->> 'options')::integer AS "OPTIONS", NULL::varchar(32) AS "INFO", 0 AS "STATUS"
FROM logminer.session_get() s
WHERE (s ->> 'started')::boolean;

CREATE VIEW "SYS"."V$SYSTEM_PACKAGES" AS
SELECT 'DBMS_LOGMNR'::varchar(128) AS "NAME", n.oid::integer AS "ID", 'SYS'::varchar(128) AS "SCHNAME",
       (CASE WHEN n.oid IS NULL THEN 'N' ELSE 'Y' END)::varchar(1) AS "IS_VALID"
FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = 'dbms_logmnr';

CREATE FUNCTION "SYS".sf_check_system_package(name text) RETURNS integer
LANGUAGE sql STABLE AS $$ SELECT count(*)::integer FROM pg_namespace WHERE nspname = 'dbms_logmnr' AND upper(name) = 'DBMS_LOGMNR' $$;
