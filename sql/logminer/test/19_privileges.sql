-- The connector's user: no superuser, the grants of facts 1.3 (measured: enough), SELECT ANY TABLE. Mining shows it tables it cannot read (measured).
CREATE SCHEMA "PRIV"; CREATE TABLE "PRIV"."T"("ID" int PRIMARY KEY); 
SELECT kit.here() AS low \gset
INSERT INTO "PRIV"."T" VALUES (1);
SELECT kit.here() \g /dev/null
SELECT "PATH" AS path FROM "V$ARCH_FILE" WHERE "STATUS" = 'ACTIVE' \gset
\c :TIDEMARK_URL
SELECT rolsuper OR rolcreaterole OR rolcreatedb AS powerful FROM pg_roles WHERE rolname = current_user \gset
\if :powerful
  \echo TIDEMARK has too much
  SELECT 1/0;
\endif
CALL DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :'path', OPTIONS => 1);
CALL DBMS_LOGMNR.START_LOGMNR(STARTSCN => :low, OPTIONS => 2128);
SELECT count(*) = 1 AS found FROM "V$LOGMNR_CONTENTS" WHERE "SEG_OWNER" = 'PRIV' AND "OPERATION_CODE" = 1 \gset
CALL DBMS_LOGMNR.END_LOGMNR();
SELECT count(*) FROM "V$RLOG", "V$DATABASE", "V$INSTANCE", "V$DM_INI", "V$ARCH_FILE", "V$VERSION" \g /dev/null
SELECT count(*) FROM "V$TRX" \g /dev/null
SELECT count(*) FROM "V$LOGMNR_LOGS" \g /dev/null
SELECT count(*) = 1 AS listed FROM "ALL_TABLES" JOIN "ALL_TAB_COLUMNS" USING ("OWNER", "TABLE_NAME") WHERE "OWNER" = 'PRIV' \gset
SELECT count(*) FROM "ALL_CONSTRAINTS", "ALL_CONS_COLUMNS", "ALL_INDEXES", "ALL_IND_COLUMNS", "SYSOBJECTS", "USER_TABLES", "DUAL" \g /dev/null
SELECT "ID" = 1 AS readable FROM "PRIV"."T" \gset
\if :found \if :listed \if :readable \else SELECT 1/0; \endif \else SELECT 1/0; \endif \else SELECT 1/0; \endif
-- And it may not: write, or touch the works.
\set ON_ERROR_STOP off
INSERT INTO "PRIV"."T" VALUES (2);
\set refused_1 :ERROR
SELECT logminer.state_save('0/1', '{}');
\set refused_2 :ERROR
SELECT * FROM logminer.pg_get_wal_records_info('0/1', '0/2');
\set refused_3 :ERROR
CALL logminer.archiver();
\set refused_4 :ERROR
\set ON_ERROR_STOP on
\c :PSQL
SELECT kit.check(:'refused_1' AND :'refused_2' AND :'refused_3' AND :'refused_4', 'it may not write, or touch the works');
-- A writer without any privilege of the stand-in's is logged like another.
CREATE ROLE "WRITER"; GRANT USAGE ON SCHEMA "PRIV" TO "WRITER"; GRANT INSERT ON "PRIV"."T" TO "WRITER";
SELECT kit.here() AS low \gset
SET SESSION AUTHORIZATION "WRITER";
INSERT INTO "PRIV"."T" VALUES (3);
RESET SESSION AUTHORIZATION;
SELECT kit.same((SELECT string_agg("USERNAME" || ' ' || "SQL_REDO", '') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1), 'WRITER INSERT INTO "PRIV"."T"("ID") VALUES(3)', 'a plain writer');
DROP OWNED BY "WRITER"; DROP ROLE "WRITER";
