-- The system views that a log reader asks. Columns and their order as in DM8's view dictionary.

CREATE FUNCTION logminer.magic() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT abs(system_identifier % 2147483647) FROM pg_control_system()
$$;

CREATE VIEW "SYS"."V$ARCH_FILE" AS
SELECT logminer.magic() AS "DB_MAGIC",
       (CASE WHEN a.active THEN 'ACTIVE' ELSE 'INACTIVE' END)::varchar(30) AS "STATUS",
       a.size AS "LEN", a.used AS "FREE",
       logminer.scn(a.first_lsn, logminer.granularity()) AS "ARCH_LSN", a.clsn AS "CLSN",
       a.number AS "ARCH_SEQ", a.number AS "NEXT_SEQ",
       (a.created AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "CREATE_TIME",
       (a.closed AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "CLOSE_TIME",
       a.path::varchar(512) AS "PATH", logminer.magic() AS "PMNT_MAGIC", 0 AS "DSC_SEQNO", 1 AS "CRC_CHECK",
       a.used AS "LAST_PKG_OFF",
       CASE WHEN a.number <= 1 THEN 0 ELSE logminer.scn(a.first_lsn - 1::numeric, logminer.granularity()) END AS "PREV_LSN",
       a.number AS "GLOBAL_NEXT_SEQ", logminer.magic() AS "SRC_DB_MAGIC",
       NULL::timestamp(6) AS "LLOG_FIRST_TIME", NULL::timestamp(6) AS "LLOG_LAST_TIME"
FROM logminer.archives() a;

CREATE FUNCTION logminer.rlog(OUT ckpt_lsn bigint, OUT file_lsn bigint, OUT flush_lsn bigint, OUT cur_lsn bigint, OUT next_seq bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT logminer.scn(k.redo_lsn, g), least(a.scn, logminer.scn(a.written, g)), logminer.scn(a.whole, g), logminer.scn(a.written, g),
         logminer.bytes(a.written) / logminer.segment_size()
  FROM pg_control_checkpoint() k, logminer.archived() a, logminer.granularity() g
$$;

-- What PostgreSQL has nothing like is NULL or a constant.
CREATE VIEW "SYS"."V$RLOG" AS
SELECT r.ckpt_lsn AS "CKPT_LSN", r.file_lsn AS "FILE_LSN", r.flush_lsn AS "FLUSH_LSN", r.cur_lsn AS "CUR_LSN",
       r.next_seq AS "NEXT_SEQ", logminer.magic() AS "N_MAGIC", logminer.magic() AS "DB_MAGIC",
       0::bigint AS "FLUSH_PAGES", 0::bigint AS "FLUSHING_PAGES", 0 AS "CUR_FILE", NULL::bigint AS "CUR_OFFSET", 0 AS "CKPT_FILE",
       NULL::bigint AS "CKPT_OFFSET", NULL::bigint AS "FREE_SPACE", NULL::bigint AS "TOTAL_SPACE", NULL::bigint AS "SUSPEND_TIME",
       NULL::bigint AS "UPD_CTL_LSN", 0 AS "N_RESERVE_WAIT", NULL::bigint AS "TOTAL_FLUSH_PAGES", NULL::bigint AS "TOTAL_FLUSH_TIMES",
       NULL::bigint AS "TOTAL_ECPR_FLUSH_PAGES", r.next_seq AS "GLOBAL_NEXT_SEQ", 1 AS "N_PRIMARY_EP",
       logminer.magic() AS "PRIMARY_DB_MAGIC", 1 AS "CKPT_N_PRIMARY_EP", logminer.magic() AS "CKPT_PRIMARY_DB_MAGIC",
       NULL::bigint AS "MIN_EXEC_VER", NULL::bigint AS "MIN_DCT_VER", 1::bigint AS "CLSN_OPEN_ID", 1::bigint AS "DB_OPEN_ID",
       'SAFE'::varchar(20) AS "ALMOST_FULL_STATUS", 0::bigint AS "PTX_RESERVED", 0::bigint AS "RESERVE_THRESHOLD", 0::bigint AS "RESERVE_SIZE"
FROM logminer.rlog() r;

CREATE FUNCTION logminer.last_checkpoint() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$ SELECT checkpoint_time FROM pg_control_checkpoint() $$;

CREATE VIEW "SYS"."V$DATABASE" AS
SELECT 'DAMENG'::varchar(128) AS "NAME", NULL::timestamp(0) AS "CREATE_TIME",
       (CASE (SELECT para_value FROM logminer.ini WHERE para_name = 'ARCH_INI') WHEN '1' THEN 'Y' ELSE 'N' END)::varchar(1) AS "ARCH_MODE",
       (logminer.last_checkpoint() AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "LAST_CKPT_TIME",
       4 AS "STATUS$", 0 AS "ROLE$", 0::bigint AS "MAX_SIZE", pg_database_size(current_database()) / 8192 AS "TOTAL_SIZE",
       1 AS "DSC_NODES", 1 AS "OPEN_COUNT", 1 AS "STARTUP_COUNT",
       (pg_postmaster_start_time() AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "LAST_STARTUP_TIME";

CREATE VIEW "SYS"."V$INSTANCE" AS
SELECT 'DMSERVER'::varchar(128) AS "NAME", 'DMSERVER'::varchar(128) AS "INSTANCE_NAME", 1 AS "INSTANCE_NUMBER",
       'localhost'::varchar(128) AS "HOST_NAME", 'DM Database Server x64 V8'::varchar(128) AS "SVR_VERSION",
       'DB Version: 0x7000d'::varchar(128) AS "DB_VERSION",
       (pg_postmaster_start_time() AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "START_TIME",
       'OPEN'::varchar(128) AS "STATUS$", 'NORMAL'::varchar(128) AS "MODE$", 0 AS "OGUID", 0 AS "DSC_SEQNO",
       NULL::varchar(32) AS "DSC_ROLE", 'stand-in over PostgreSQL'::varchar(128) AS "BUILD_VERSION", NULL::varchar(128) AS "BUILD_TIME";

CREATE VIEW "SYS"."V$PARAMETER" AS
SELECT (row_number() OVER (ORDER BY para_name))::integer AS "ID", para_name::varchar(80) AS "NAME", para_type::varchar(200) AS "TYPE",
       para_value::varchar(4000) AS "VALUE", para_value::varchar(4000) AS "SYS_VALUE", para_value::varchar(4000) AS "FILE_VALUE",
       description::varchar(255) AS "DESCRIPTION", default_value::varchar(4000) AS "DEFAULT_VALUE",
       (para_value IS NOT DISTINCT FROM default_value)::integer AS "ISDEFAULT"
FROM logminer.ini;

CREATE VIEW "SYS"."V$VERSION" AS
SELECT b::varchar(256) AS "BANNER"
FROM unnest(ARRAY['DM Database Server 64 V8', 'DB Version: 0x7000d', 'stand-in over PostgreSQL']) b;

CREATE VIEW "SYS"."V$DM_INI" AS
SELECT para_name::varchar(128) AS "PARA_NAME", para_value::varchar(256) AS "PARA_VALUE", min_value::varchar(256) AS "MIN_VALUE",
       max_value::varchar(256) AS "MAX_VALUE", default_value::varchar(256) AS "DEFAULT_VALUE", 'N'::varchar(1) AS "MPP_CHK",
       para_value::varchar(256) AS "SESS_VALUE", para_value::varchar(256) AS "FILE_VALUE", description::varchar(256) AS "DESCRIPTION",
       para_type::varchar(200) AS "PARA_TYPE", 'UNKNOWN'::varchar(20) AS "SYNC_FLAG", 'UNKNOWN'::varchar(20) AS "SYNC_LEVEL",
       NULL::varchar(200) AS "PARA_MODULE", 'N'::varchar(1) AS "PRIMARY_SYNC", 'N'::varchar(1) AS "DSC_SYNC"
FROM logminer.ini;

-- Every open transaction that has an xid. Without a START yet, its START will come after the position read first here.
CREATE FUNCTION logminer.transactions(OUT id bigint, OUT start_lsn pg_lsn, OUT session_id int, OUT waiting boolean, OUT prepared boolean)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  written pg_lsn := pg_current_wal_insert_lsn();
  lost_starts jsonb;
BEGIN
  FOR id, session_id, start_lsn, waiting, prepared IN
    WITH held AS MATERIALIZED (
      SELECT l.locktype, l.pid, l.virtualtransaction, l.transactionid, l.classid, l.objid, l.objsubid, l.mode, l.granted
      FROM pg_locks l),
    top AS (
      SELECT min(h.transactionid::text::bigint) AS xid, h.pid, h.virtualtransaction
      FROM held h WHERE h.locktype = 'transactionid' AND h.mode = 'ExclusiveLock' AND h.granted
      GROUP BY h.pid, h.virtualtransaction),
    -- A key keeps 32 bits of the position; the lock may also be younger than `written`, and its position greater.
    start AS (
      SELECT h.classid::bigint AS xid, min(CASE WHEN p.full > w.now + 2147483648 THEN p.full - 4294967296 ELSE p.full END) AS at
      FROM held h,
           LATERAL (SELECT logminer.bytes(written) / 8 + 1 AS now) w,
           LATERAL (SELECT h.objid::bigint + w.now / 4294967296 * 4294967296 AS full) p
      WHERE h.locktype = 'advisory' AND h.objsubid = 2
      GROUP BY h.classid)
    SELECT t.xid, t.pid, '0/0'::pg_lsn + s.at::numeric * 8,
           EXISTS (SELECT FROM held h WHERE h.pid = t.pid AND NOT h.granted), t.pid IS NULL
    FROM top t LEFT JOIN start s ON s.xid = t.xid % 4294967296
    ORDER BY t.xid
  LOOP
    IF start_lsn IS NULL AND prepared THEN
      -- Its session, and the lock with it, may be long gone: ask the log.
      lost_starts := coalesce(lost_starts, logminer.open_starts());
      start_lsn := (lost_starts ->> id::text)::pg_lsn;
    END IF;
    start_lsn := coalesce(start_lsn, written);
    RETURN NEXT;
  END LOOP;
END $$;

-- Snapshot of the transactions that the log shows open at its end: {xid: START}.
CREATE FUNCTION logminer.open_starts() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer SET enable_nestloop = off AS $$
DECLARE
  flushed pg_lsn := pg_current_wal_flush_lsn();
  base record;
BEGIN
  SELECT * INTO base FROM logminer.state_before(flushed);
  RETURN (
    WITH rec AS MATERIALIZED (SELECT r.lsn, r.kind, r.xid, r.description FROM logminer.records(base.lsn, flushed) r),
    tops AS (
      SELECT t.t, min(t.s) AS start
      FROM (SELECT b.t, b.s FROM jsonb_to_recordset(base.state -> 'tops') b(t bigint, s pg_lsn)
            UNION ALL SELECT split_part(r.description, E'\x01', 3)::bigint, r.lsn FROM rec r WHERE r.kind = 'M') t
      GROUP BY t.t)
    SELECT coalesce(jsonb_object_agg(t.t, t.start), '{}')
    FROM tops t
    LEFT JOIN (SELECT CASE WHEN r.kind IN ('c', 'a') THEN split_part(r.description, ':', 1)::bigint ELSE r.xid END AS x
               FROM rec r WHERE r.kind IN ('C', 'A', 'c', 'a')) e ON e.x = t.t
    WHERE e.x IS NULL);
END $$;

CREATE VIEW "SYS"."V$TRX" AS
SELECT t.id AS "ID", NULL::bigint AS "NEXTID", min(t.id) OVER () AS "MIN_ACTIVE_ID",
       (CASE WHEN t.prepared THEN 'PRE_COMMIT' WHEN t.waiting THEN 'LOCK WAIT' ELSE 'ACTIVE' END)::varchar(20) AS "STATUS",
       1 AS "ISOLATION", 'N'::varchar(1) AS "READ_ONLY", t.session_id::bigint AS "SESS_ID", t.session_id::bigint AS "SESS_SEQ",
       NULL::integer AS "INS_CNT", NULL::integer AS "DEL_CNT", NULL::integer AS "UPD_CNT", NULL::integer AS "UPD_INS_CNT",
       NULL::bigint AS "UREC_SEQNO", NULL::bytea AS "WAITING", logminer.scn(t.start_lsn, logminer.granularity()) AS "START_LSN",
       0 AS "ROLLBACK_FLAG", NULL::varchar(280) AS "XID", NULL::integer AS "LOCK_CNT", NULL::integer AS "IGN_LOCK_CNT",
       NULL::integer AS "SAVEPOINT_CNT", t.session_id::bigint AS "THRD_ID", NULL::integer AS "SRC_SITE", NULL::integer AS "N_BRANCHES",
       NULL::integer AS "N_WRITES", NULL::integer AS "N_PAGES", NULL::bigint AS "SNAP_CMTSEQ", NULL::integer AS "N_LONG"
FROM logminer.transactions() t;

CREATE VIEW "SYS"."V$LOGMNR_LOGS" AS
SELECT (f.place - 1)::integer AS "LOG_ID", (f.j ->> 'path')::varchar(512) AS "FILENAME",
       (a.created AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "LOW_TIME",
       (a.closed AT TIME ZONE logminer.setting('time_zone'))::timestamp(0) AS "HIGH_TIME", logminer.magic() AS "DB_ID",
       'DAMENG'::varchar(128) AS "DB_NAME", NULL::bigint AS "RESET_SCN", NULL::timestamp(0) AS "RESET_SCN_TIME",
       NULL::varchar(32) AS "COMPATIBLE", 0 AS "THREAD_ID", a.number AS "THREAD_SQN",
       logminer.scn(a.first_lsn, logminer.granularity()) AS "LOW_SCN", a.clsn AS "NEXT_SCN", 'NO'::varchar(3) AS "DICTIONARY_BEGIN",
       'NO'::varchar(3) AS "DICTIONARY_END", 'ARCHIVED'::varchar(8) AS "TYPE", 512 AS "BLOCKSIZE", a.size AS "FILESIZE",
       NULL::varchar(32) AS "INFO", 0 AS "STATUS"
FROM jsonb_array_elements(logminer.session_get() -> 'files') WITH ORDINALITY f(j, place)
LEFT JOIN logminer.archives() a ON a.number = (f.j ->> 'number')::bigint;
