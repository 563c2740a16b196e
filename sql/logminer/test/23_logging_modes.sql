-- RLOG_APPEND_LOGIC 0 to 4 and RLOG_IGNORE_TABLE_SET (manual; the texts of 1 and 3 are not measured), SQL_UNDO (manual, measured NULL by
-- default).
CREATE SCHEMA "MODE";
CREATE TABLE "MODE"."K"("A" varchar(9), "ID" int, "B" int, PRIMARY KEY ("ID", "A"));
CREATE TABLE "MODE"."N"("A" int, "B" int);
CREATE PROCEDURE "MODE".work() LANGUAGE sql AS $$
  INSERT INTO "MODE"."K" VALUES ('a', 1, 2); UPDATE "MODE"."K" SET "B" = NULL, "ID" = 4; DELETE FROM "MODE"."K";
  INSERT INTO "MODE"."N" VALUES (1, 2); UPDATE "MODE"."N" SET "B" = 3; DELETE FROM "MODE"."N" $$;
CREATE FUNCTION pg_temp.texts(low bigint, options int DEFAULT 2128) RETURNS text LANGUAGE sql AS $$
  -- (the server's own transactions have no user)
  WITH m AS MATERIALIZED (SELECT * FROM kit.mine(low, options => options))
  SELECT string_agg(concat_ws(' ', "OPERATION_CODE", "SQL_REDO"), E'\n') FROM m
  WHERE "XID" IN (SELECT s."XID" FROM m s WHERE s."OPERATION_CODE" = 6 AND s."USERNAME" IS NOT NULL) $$;
CALL SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 1);
SELECT kit.same((SELECT "PARA_VALUE" FROM "V$DM_INI" WHERE "PARA_NAME" = 'RLOG_APPEND_LOGIC'), '1', 'V$DM_INI shows it');
SELECT kit.same((SELECT "VALUE" || "ISDEFAULT" FROM "V$PARAMETER" WHERE "NAME" = 'RLOG_APPEND_LOGIC'), '10', 'V$PARAMETER too');
SELECT kit.here() AS low \gset
CALL "MODE".work();
SELECT kit.same(pg_temp.texts(:low), $$6
1 INSERT INTO "MODE"."K"("A", "ID", "B") VALUES('a', 1, 2)
3 UPDATE "MODE"."K" SET "ID" = 4, "B" = NULL WHERE "A" = 'a' AND "ID" = 1
2 DELETE FROM "MODE"."K" WHERE "A" = 'a' AND "ID" = 4
1 INSERT INTO "MODE"."N"("A", "B") VALUES(1, 2)
3 UPDATE "MODE"."N" SET "B" = 3 WHERE "A" = 1 AND "B" = 2
2 DELETE FROM "MODE"."N" WHERE "A" = 1 AND "B" = 3
7$$, '1: by the key, or by all columns');
CALL SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 3);
SELECT kit.here() AS low3 \gset
CALL "MODE".work();
SELECT kit.same(regexp_replace(pg_temp.texts(:low3), '''AAAAAAA.{11}''', '''AA''', 'g'), $$6
1 INSERT INTO "MODE"."K"("A", "ID", "B") VALUES('a', 1, 2)
3 UPDATE "MODE"."K" SET "ID" = 4, "B" = NULL WHERE ROWID = 'AA'
2 DELETE FROM "MODE"."K" WHERE ROWID = 'AA'
1 INSERT INTO "MODE"."N"("A", "B") VALUES(1, 2)
3 UPDATE "MODE"."N" SET "B" = 3 WHERE ROWID = 'AA'
2 DELETE FROM "MODE"."N" WHERE ROWID = 'AA'
7$$, '3: by the ROWID');
SELECT kit.check(bool_and(substring("SQL_REDO" FROM 'ROWID = ''(.*)''') = "ROW_ID"), 'its own ROW_ID') FROM kit.mine(:low3) WHERE "OPERATION_CODE" IN (2, 3);
CALL SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 4);
SELECT kit.here() AS low4 \gset
CALL "MODE".work();
SELECT kit.same(pg_temp.texts(:low4), E'6\n7', '4: transactions only');
CALL SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 0);
CALL "MODE".work();
SELECT kit.same(pg_temp.texts(:low), NULL, '0: an empty view and no error');
CALL SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2);
-- What was logged stays as it was logged; a session that runs heeds the change at its next statement.
SELECT kit.check(pg_temp.texts(:low) LIKE '%WHERE "A" = ''a'' AND "ID" = 1' || E'\n%', 'older rows stay short');
-- RLOG_IGNORE_TABLE_SET = 0: only tables with ADD LOGIC LOG.
CALL SP_SET_PARA_VALUE(1, 'RLOG_IGNORE_TABLE_SET', 0);
SELECT kit.here() AS low \gset
CALL "MODE".work();
SELECT kit.same(pg_temp.texts(:low), E'6\n7', 'no table is flagged');
CALL logminer.logic_log('"MODE"."N"', true);
SELECT kit.here() AS low \gset
CALL "MODE".work();
SELECT kit.same((SELECT string_agg("TABLE_NAME" || "OPERATION_CODE", ' ') FROM kit.mine(:low)), 'N1 N3 N2', 'the flagged table');
SELECT kit.same((SELECT string_agg("NAME" || ("INFO3" >> 51 & 1), ' ' ORDER BY "NAME") FROM "SYSOBJECTS" WHERE "SCHID" = '"MODE"'::regnamespace::oid::int), 'K0 N1', 'SYSOBJECTS.INFO3 bit 51');
CALL SP_SET_PARA_VALUE(1, 'RLOG_IGNORE_TABLE_SET', 1);
SELECT kit.same(kit.outcome('CALL SP_SET_PARA_VALUE(1, ''NO_SUCH'', 1)'), '[-2850] para conflict', 'no such parameter');

-- SQL_UNDO under LOGMNR_GEN_UNDO = 1; by RLOG_APPEND_LOGIC of the record.
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_GEN_UNDO', 1);
SELECT kit.here() AS low \gset
CALL "MODE".work();
SELECT kit.same((SELECT string_agg("SQL_UNDO", E'\n') FROM kit.mine(:low)), $$DELETE FROM "MODE"."K" WHERE "A" = 'a' AND "ID" = 1 AND "B" = 2
UPDATE "MODE"."K" SET "ID" = 1, "B" = 2 WHERE "A" = 'a' AND "ID" = 4 AND "B" IS NULL
INSERT INTO "MODE"."K"("A", "ID", "B") VALUES('a', 4, NULL)
DELETE FROM "MODE"."N" WHERE "A" = 1 AND "B" = 2
UPDATE "MODE"."N" SET "B" = 2 WHERE "A" = 1 AND "B" = 3
INSERT INTO "MODE"."N"("A", "B") VALUES(1, 3)$$, 'undo of all');
SELECT kit.same((SELECT string_agg("TABLE_NAME" || "OPERATION_CODE", ' ') FROM kit.mine(:low3, :low4) WHERE "SQL_UNDO" IS NOT NULL), 'K1 N1', '3: of INSERTs');
CREATE TABLE "MODE"."L"("A" clob);
SELECT kit.here() AS low \gset
INSERT INTO "MODE"."L" VALUES (repeat('字', 3000));
SELECT kit.check(string_agg("SQL_REDO", '') = format('INSERT INTO "MODE"."L"("A") VALUES(''%s'')', repeat('字', 3000))
  AND string_agg("SQL_UNDO", '') = format('DELETE FROM "MODE"."L" WHERE "A" = ''%s''', repeat('字', 3000))
  AND string_agg("SSN" || ':' || "CSF", ' ') = '0:1 1:1 2:0', 'both are cut') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1;
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_GEN_UNDO', 0);
