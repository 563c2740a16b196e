-- V$LOGMNR_CONTENTS: DM8's 63 columns in order (its view dictionary). Types where measured: SCN, TIMESTAMP, XID,
-- OPERATION_CODE, ROW_ID, SQL_REDO, SSN; the others after the C header's fields.
-- RS_ID is not unique on purpose: on DM8 it only counts inside a transaction.
CREATE VIEW logminer.mined AS
SELECT c.scn::bigint AS "SCN", c.start_scn AS "START_SCN",
       CASE WHEN c.code IN (7, 38) THEN c.scn END AS "COMMIT_SCN",
       c.ts::timestamp(6) AS "TIMESTAMP", NULL::timestamp(6) AS "START_TIMESTAMP",
       CASE WHEN c.code IN (7, 38) THEN c.ts END::timestamp(6) AS "COMMIT_TIMESTAMP",
       NULL::bigint AS "XIDUSN", NULL::bigint AS "XIDSLT", NULL::bigint AS "XIDSQN",
       int8send(c.xid) AS "XID",
       NULL::bigint AS "PXIDUSN", NULL::bigint AS "PXIDSLT", NULL::bigint AS "PXIDSQN", NULL::bytea AS "PXID",
       NULL::varchar(256) AS "TX_NAME",
       (CASE c.code WHEN 1 THEN 'INSERT' WHEN 2 THEN 'DELETE' WHEN 3 THEN 'UPDATE' WHEN 4 THEN 'BATCH_UPDATE' WHEN 5 THEN 'DDL'
          WHEN 6 THEN 'START' WHEN 7 THEN 'COMMIT' WHEN 13 THEN 'LOB_NEW' WHEN 14 THEN 'LOB_DATA' WHEN 37 THEN 'SEQ MODIFY' WHEN 15 THEN 'PRE_COMMIT' WHEN 36 THEN 'ROLLBACK' WHEN 38 THEN 'XA_COMMIT'
          ELSE 'UNSUPPORTED' END)::varchar(32) AS "OPERATION",
       c.code AS "OPERATION_CODE", c.roll_back AS "ROLL_BACK", c.seg_owner::varchar(128) :name_collation AS "SEG_OWNER",
       NULL::varchar(128) AS "SEG_NAME", c.table_name::varchar(128) :name_collation AS "TABLE_NAME",
       NULL::bigint AS "SEG_TYPE", NULL::varchar(128) AS "SEG_TYPE_NAME", NULL::varchar(128) AS "TABLE_SPACE",
       c.row_id::varchar(20) AS "ROW_ID", c.username::varchar(128) AS "USERNAME",
       NULL::varchar(128) AS "OS_USERNAME", NULL::varchar(128) AS "MACHINE_NAME", NULL::bigint AS "AUDIT_SESSIONID",
       c.session_id AS "SESSION#", NULL::bigint AS "SERIAL#", NULL::varchar(128) AS "SESSION_INFO",
       NULL::bigint AS "THREAD#", NULL::bigint AS "SEQUENCE#",
       (logminer.bytes(c.lsn) / logminer.segment_size())::integer AS "RBASQN",
       (logminer.bytes(c.lsn) % logminer.segment_size() / 512)::integer AS "RBABLK",
       (logminer.bytes(c.lsn) % 512)::integer AS "RBABYTE",
       NULL::bigint AS "UBAFIL", NULL::bigint AS "UBABLK", NULL::bigint AS "UBAREC", NULL::bigint AS "UBASQN",
       NULL::bigint AS "ABS_FILE#", NULL::bigint AS "REL_FILE#", NULL::bigint AS "DATA_BLK#",
       c.table_oid::integer AS "DATA_OBJ#", c.table_version AS "DATA_OBJV#", NULL::bigint AS "DATA_OBJD#",
       p.piece::varchar(4000) AS "SQL_REDO", p.undo::varchar(4000) AS "SQL_UNDO",
       ('0x' || lpad(to_hex(logminer.bytes(c.lsn) / 8 % 65536), 8, '0'))::varchar(32) AS "RS_ID",
       coalesce(c.ssn, p.ssn) AS "SSN", coalesce(c.csf, p.csf) AS "CSF", NULL::varchar(128) AS "INFO", c.status AS "STATUS",
       logminer.bytes(c.lsn) AS "REDO_VALUE", logminer.bytes(c.lsn) + 1 AS "UNDO_VALUE",
       NULL::bigint AS "SAFE_RESUME_SCN", CASE WHEN c.code IN (7, 38) THEN c.scn END AS "CSCN",
       NULL::bytea AS "OBJECT_ID", NULL::varchar(128) AS "EDITION_NAME", NULL::varchar(128) AS "CLIENT_ID",
       NULL::integer AS "SUBTAB_ID", NULL::integer AS "SRC_RAFT_ID"
FROM logminer.contents() c
CROSS JOIN LATERAL (
  SELECT 0 AS ssn, 0 AS csf, convert_from(c.body, 'UTF8') AS piece, convert_from(c.undo, 'UTF8') AS undo
  WHERE (octet_length(c.body) <= 4000 OR c.body IS NULL OR c.csf IS NOT NULL) AND (c.undo IS NULL OR octet_length(c.undo) <= 4000)
  UNION ALL
  -- SQL_REDO and SQL_UNDO are cut side by side; the shorter one ends with NULL
  SELECT coalesce(x.ssn, u.ssn), greatest(x.csf, u.csf), x.piece, u.piece
  FROM logminer.pieces(c.body) x FULL JOIN logminer.pieces(c.undo) u ON u.ssn = x.ssn
  WHERE c.csf IS NULL AND (octet_length(c.body) > 4000 OR octet_length(c.undo) > 4000)) p;

-- Rows served instead of mined ones (lever `serve` = prepared), in the order in which they were put in: what reading costs a client
-- without what mining costs the server.
CREATE UNLOGGED TABLE logminer.prepared AS TABLE logminer.mined WITH NO DATA;
CREATE INDEX ON logminer.prepared ("SCN");

-- What of it a session sees: from STARTSCN to ENDSCN, in the files that were added.
CREATE FUNCTION logminer.served(OUT prepared boolean, OUT low bigint, OUT high bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT logminer.setting('serve') = 'prepared',
         greatest((s ->> 'startscn')::bigint, f.first * logminer.segment_size() / logminer.granularity()),
         least(nullif((s ->> 'endscn')::bigint, 0), ((f.last + 1) * logminer.segment_size() - 1) / logminer.granularity())
  FROM logminer.session_get() s,
       LATERAL (SELECT min((file ->> 'number')::bigint) AS first, max((file ->> 'number')::bigint) AS last
                FROM jsonb_array_elements(s -> 'files') file) f
$$;

CREATE VIEW "SYS"."V$LOGMNR_CONTENTS" AS
TABLE logminer.mined
UNION ALL
SELECT * FROM logminer.prepared
WHERE (SELECT s.prepared FROM logminer.served() s)
  AND "SCN" BETWEEN (SELECT s.low FROM logminer.served() s) AND (SELECT s.high FROM logminer.served() s);
