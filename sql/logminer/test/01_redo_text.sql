-- SQL_REDO under RLOG_APPEND_LOGIC = 2 (facts measured on DM8: spacing, SET with the changed columns, WHERE with every old
-- value, literals by declared type).
CREATE SCHEMA "REDO";
CREATE TABLE "REDO"."T_BASIC"("ID" int PRIMARY KEY, "C_TINY" tinyint, "C_BIGINT" bigint, "C_DEC" decimal(12,4), "C_DOUBLE" double,
  "C_CHAR" char(10), "C_VARCHAR" varchar(100), "C_DATE" date, "C_TIME" time(0), "C_TS" timestamp(6), "C_TSTZ" timestamptz(6),
  "C_BLOB" blob, "C_CLOB" clob, "C_NEW" int);
-- The text must not depend on the writer's settings.
SET datestyle = 'SQL, DMY'; SET timezone = 'America/New_York'; SET bytea_output = 'escape';
SELECT kit.here() AS low \gset
INSERT INTO "REDO"."T_BASIC" VALUES (1, 1, 9223372036854775807, 1234.5678, 3.14159, 'abc', '一段中文', '2026-01-02', '10:20:30',
  '2026-01-02 10:20:30.123456', '2026-01-02 10:20:30.123456 +08:00', '\x00010203', 'short clob');
UPDATE "REDO"."T_BASIC" SET "C_VARCHAR" = '改过了', "C_DEC" = 9999.0001, "C_CHAR" = 'abc' WHERE "ID" = 1;
UPDATE "REDO"."T_BASIC" SET "C_VARCHAR" = NULL, "C_NEW" = -5;
UPDATE "REDO"."T_BASIC" SET "ID" = 2;
DELETE FROM "REDO"."T_BASIC";
SELECT kit.same(kit.story('REDO', :low), $$t1 START
t1 INSERT INSERT INTO "REDO"."T_BASIC"("ID", "C_TINY", "C_BIGINT", "C_DEC", "C_DOUBLE", "C_CHAR", "C_VARCHAR", "C_DATE", "C_TIME", "C_TS", "C_TSTZ", "C_BLOB", "C_CLOB", "C_NEW") VALUES(1, 1, 9223372036854775807, 1234.5678, 3.14159E0, 'abc', '一段中文', DATE'2026-01-02', TIME'10:20:30', TIMESTAMP'2026-01-02 10:20:30.123456', TIMESTAMP'2026-01-02 10:20:30.123456 +08:00', 0x00010203, 'short clob', NULL)
t1 COMMIT
t2 START
t2 UPDATE UPDATE "REDO"."T_BASIC" SET "C_DEC" = 9999.0001, "C_VARCHAR" = '改过了' WHERE "ID" = 1 AND "C_TINY" = 1 AND "C_BIGINT" = 9223372036854775807 AND "C_DEC" = 1234.5678 AND "C_DOUBLE" = 3.14159E0 AND "C_CHAR" = 'abc' AND "C_VARCHAR" = '一段中文' AND "C_DATE" = DATE'2026-01-02' AND "C_TIME" = TIME'10:20:30' AND "C_TS" = TIMESTAMP'2026-01-02 10:20:30.123456' AND "C_TSTZ" = TIMESTAMP'2026-01-02 10:20:30.123456 +08:00' AND "C_BLOB" = 0x00010203 AND "C_CLOB" = 'short clob' AND "C_NEW" IS NULL
t2 COMMIT
t3 START
t3 UPDATE UPDATE "REDO"."T_BASIC" SET "C_VARCHAR" = NULL, "C_NEW" = -5 WHERE "ID" = 1 AND "C_TINY" = 1 AND "C_BIGINT" = 9223372036854775807 AND "C_DEC" = 9999.0001 AND "C_DOUBLE" = 3.14159E0 AND "C_CHAR" = 'abc' AND "C_VARCHAR" = '改过了' AND "C_DATE" = DATE'2026-01-02' AND "C_TIME" = TIME'10:20:30' AND "C_TS" = TIMESTAMP'2026-01-02 10:20:30.123456' AND "C_TSTZ" = TIMESTAMP'2026-01-02 10:20:30.123456 +08:00' AND "C_BLOB" = 0x00010203 AND "C_CLOB" = 'short clob' AND "C_NEW" IS NULL
t3 COMMIT
t4 START
t4 UPDATE UPDATE "REDO"."T_BASIC" SET "ID" = 2 WHERE "ID" = 1 AND "C_TINY" = 1 AND "C_BIGINT" = 9223372036854775807 AND "C_DEC" = 9999.0001 AND "C_DOUBLE" = 3.14159E0 AND "C_CHAR" = 'abc' AND "C_VARCHAR" IS NULL AND "C_DATE" = DATE'2026-01-02' AND "C_TIME" = TIME'10:20:30' AND "C_TS" = TIMESTAMP'2026-01-02 10:20:30.123456' AND "C_TSTZ" = TIMESTAMP'2026-01-02 10:20:30.123456 +08:00' AND "C_BLOB" = 0x00010203 AND "C_CLOB" = 'short clob' AND "C_NEW" = -5
t4 COMMIT
t5 START
t5 DELETE DELETE FROM "REDO"."T_BASIC" WHERE "ID" = 2 AND "C_TINY" = 1 AND "C_BIGINT" = 9223372036854775807 AND "C_DEC" = 9999.0001 AND "C_DOUBLE" = 3.14159E0 AND "C_CHAR" = 'abc' AND "C_VARCHAR" IS NULL AND "C_DATE" = DATE'2026-01-02' AND "C_TIME" = TIME'10:20:30' AND "C_TS" = TIMESTAMP'2026-01-02 10:20:30.123456' AND "C_TSTZ" = TIMESTAMP'2026-01-02 10:20:30.123456 +08:00' AND "C_BLOB" = 0x00010203 AND "C_CLOB" = 'short clob' AND "C_NEW" = -5
t5 COMMIT$$, 'redo texts');

-- A quote is doubled, in values and in names; everything else stands as it is. Floats: mantissa with one digit, exponent.
CREATE TABLE "REDO"."o""dd 'n"("a""b" varchar(50), "D" double, "R" real, "B" boolean);
SELECT kit.here() AS low \gset
INSERT INTO "REDO"."o""dd 'n" VALUES (E'it''s\\ new\nline -- "x" \001 \002', -0.00012, 1e20, true), ('', 0, 100, false), (' ', 'NaN', 1e-45, NULL);
SELECT kit.same(kit.story('REDO', :low), E't1 START
t1 INSERT INSERT INTO "REDO"."o""dd \'n"("a""b", "D", "R", "B") VALUES(\'it\'\'s\\ new\nline -- "x" \001 \002\', -1.2E-4, 1E20, 1)
t1 INSERT INSERT INTO "REDO"."o""dd \'n"("a""b", "D", "R", "B") VALUES(\'\', 0E0, 1E2, 0)
t1 INSERT INSERT INTO "REDO"."o""dd \'n"("a""b", "D", "R", "B") VALUES(\' \', NaN, 1E-45, NULL)
t1 COMMIT', 'odd names and values');

-- No primary key: all columns, no ROWID (measured).
CREATE TABLE "REDO"."T_NO_PK"("A" int, "B" varchar(10));
SELECT kit.here() AS low \gset
INSERT INTO "REDO"."T_NO_PK" VALUES (1, 'x');
UPDATE "REDO"."T_NO_PK" SET "B" = 'y';
SELECT kit.check(kit.story('REDO', :low) LIKE '%UPDATE UPDATE "REDO"."T_NO_PK" SET "B" = ''y'' WHERE "A" = 1 AND "B" = ''x''' || E'\n%', 'no key');

-- An UPDATE that changes nothing leaves no record of the row (ours to decide: not measured).
SELECT kit.here() AS low \gset
UPDATE "REDO"."T_NO_PK" SET "B" = 'y';
SELECT kit.same(kit.story('REDO', :low), NULL, 'nothing changed');

-- The table as it is now: a column added is there from the next change on.
ALTER TABLE "REDO"."T_NO_PK" ADD COLUMN "C" int DEFAULT 7;
SELECT kit.here() AS low \gset
UPDATE "REDO"."T_NO_PK" SET "B" = 'z';
ALTER TABLE "REDO"."T_NO_PK" DROP COLUMN "B";
DELETE FROM "REDO"."T_NO_PK";
SELECT kit.same((SELECT string_agg("SQL_REDO", E'\n') FROM kit.mine(:low) WHERE "OPERATION_CODE" IN (2, 3)),
  $$UPDATE "REDO"."T_NO_PK" SET "B" = 'z' WHERE "A" = 1 AND "B" = 'y' AND "C" = 7
DELETE FROM "REDO"."T_NO_PK" WHERE "A" = 1 AND "C" = 7$$, 'after ALTER TABLE');
SELECT kit.check((SELECT count(DISTINCT "DATA_OBJV#") = 2 AND count(DISTINCT "DATA_OBJ#") = 1 FROM kit.mine(:low)
                  WHERE "TABLE_NAME" = 'T_NO_PK'), 'DATA_OBJV# changes with the table (manual)');
