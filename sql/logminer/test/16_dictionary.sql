-- The dictionary views with DM8's names of types (manual).
CREATE SCHEMA "Dict";
CREATE TABLE "Dict"."Parent"("A" int, "B" varchar(10), PRIMARY KEY ("B", "A"));
CREATE TABLE "Dict"."T"("ID" bigint PRIMARY KEY, "TI" tinyint, "SI" smallint, "I" int NOT NULL, "DE" decimal(38,10), "NU" numeric, "RE" real,
  "DO" double, "DP" double precision, "CH" char(7), "VC" varchar(30), "TX" text, "CL" clob, "BL" blob, "BY" bytea, "DA" date, "TM" time(3),
  "TS" timestamp(3), "TS6" timestamp, "DT" datetime, "TZ" timestamptz(6), "BI" boolean DEFAULT true, "PA" int, "PB" varchar(10),
  CONSTRAINT "UQ" UNIQUE ("I", "VC"), CONSTRAINT "FK" FOREIGN KEY ("PB", "PA") REFERENCES "Dict"."Parent", CONSTRAINT "CK" CHECK ("I" > 0));
CREATE INDEX "IX" ON "Dict"."T"("VC" DESC, "ID");
ALTER TABLE "Dict"."T" DROP COLUMN "SI";
CREATE TABLE "Dict"."PT"("ID" int PRIMARY KEY) PARTITION BY RANGE ("ID");
CREATE TABLE "Dict"."PT1" PARTITION OF "Dict"."PT" FOR VALUES FROM (0) TO (100);
CREATE VIEW "Dict"."V" AS SELECT 1 AS x;
SELECT kit.same((SELECT string_agg(concat_ws(' ', "COLUMN_ID", "COLUMN_NAME", "DATA_TYPE", "DATA_LENGTH", coalesce("DATA_PRECISION"::text, '-'), coalesce("DATA_SCALE"::text, '-'), "NULLABLE", "DATA_DEFAULT"), E'\n' ORDER BY "COLUMN_ID")
  FROM "ALL_TAB_COLUMNS" WHERE "OWNER" = 'Dict' AND "TABLE_NAME" = 'T'), '1 ID BIGINT 8 19 0 N
2 TI TINYINT 1 3 0 Y
3 I INT 4 10 0 N
4 DE DECIMAL 38 38 10 Y
5 NU DECIMAL 0 0 0 Y
6 RE REAL 4 24 - Y
7 DO DOUBLE 8 53 - Y
8 DP DOUBLE 8 53 - Y
9 CH CHAR 7 - - Y
10 VC VARCHAR 30 - - Y
11 TX CLOB 2147483647 - - Y
12 CL CLOB 2147483647 - - Y
13 BL BLOB 2147483647 - - Y
14 BY BLOB 2147483647 - - Y
15 DA DATE 3 - - Y
16 TM TIME 5 - 3 Y
17 TS TIMESTAMP 8 - 3 Y
18 TS6 TIMESTAMP 8 - 6 Y
19 DT TIMESTAMP 8 - 6 Y
20 TZ TIMESTAMP WITH TIME ZONE 10 - 6 Y
21 BI BIT 1 - - Y true
22 PA INT 4 10 0 Y
23 PB VARCHAR 10 - - Y', 'columns');
SELECT kit.same((SELECT string_agg(concat_ws(' ', "TABLE_NAME", "CONSTRAINT_TYPE", "COLUMN_NAME", "POSITION"), ', ' ORDER BY "TABLE_NAME", "CONSTRAINT_TYPE", "POSITION")
  FROM "ALL_CONSTRAINTS" JOIN "ALL_CONS_COLUMNS" USING ("OWNER", "CONSTRAINT_NAME", "TABLE_NAME") WHERE "OWNER" = 'Dict'),
  'PT P ID 1, Parent P B 1, Parent P A 2, T P ID 1, T R PB 1, T R PA 2, T U I 1, T U VC 2', 'keys, in key order');
SELECT kit.same((SELECT string_agg("R_OWNER" || '.' || "R_CONSTRAINT_NAME", ',') FROM "ALL_CONSTRAINTS" WHERE "CONSTRAINT_NAME" = 'FK'), 'Dict.Parent_pkey', 'reference');
SELECT kit.same((SELECT string_agg(concat_ws(' ', "INDEX_NAME", "UNIQUENESS", "COLUMN_NAME", "COLUMN_POSITION", "DESCEND"), ', ' ORDER BY "INDEX_NAME", "COLUMN_POSITION")
  FROM "ALL_INDEXES" i JOIN "ALL_IND_COLUMNS" c USING ("INDEX_NAME", "TABLE_OWNER", "TABLE_NAME") WHERE i."TABLE_OWNER" = 'Dict' AND "TABLE_NAME" = 'T'),
  'IX NONUNIQUE VC 1 DESC, IX NONUNIQUE ID 2 ASC, T_pkey UNIQUE ID 1 ASC, UQ UNIQUE I 1 ASC, UQ UNIQUE VC 2 ASC', 'indexes');
SELECT kit.same((SELECT string_agg("TABLE_NAME", ',' ORDER BY "TABLE_NAME") FROM "ALL_TABLES" WHERE "OWNER" = 'Dict'), 'PT,Parent,T', 'tables; no view, no partition');
SELECT kit.same((SELECT count(*) FROM "ALL_TABLES" WHERE "OWNER" IN ('SYS', 'logminer', 'pg_catalog', 'information_schema')), 0::bigint, 'no system schema');
-- SYSOBJECTS has partitions, views and the tables in the server's own schemas; SYSHPARTTABLEINFO says what is a partition, at each level.
CREATE TABLE "Dict"."PT2" PARTITION OF "Dict"."PT" FOR VALUES FROM (100) TO (300) PARTITION BY RANGE ("ID");
CREATE TABLE "Dict"."PT2_A" PARTITION OF "Dict"."PT2" FOR VALUES FROM (100) TO (200);
SELECT kit.same((SELECT string_agg(t."NAME" || ' ' || t."SUBTYPE$", ',' ORDER BY t."NAME") FROM "SYSOBJECTS" s JOIN "SYSOBJECTS" t ON t."SCHID" = s."ID" WHERE s."NAME" = 'Dict' AND t."TYPE$" = 'SCHOBJ'),
  'PT UTAB,PT1 UTAB,PT2 UTAB,PT2_A UTAB,Parent UTAB,T UTAB,V VIEW', 'SYSOBJECTS');
SELECT kit.same((SELECT string_agg(b."NAME" || ' ' || p."NAME" || ' ' || "PARTITION_TYPE", ',' ORDER BY p."NAME") FROM "SYSHPARTTABLEINFO" JOIN "SYSOBJECTS" p ON p."ID" = "PART_TABLE_ID" JOIN "SYSOBJECTS" b ON b."ID" = "BASE_TABLE_ID"),
  'PT PT1 RANGE,PT PT2 RANGE,PT2 PT2_A RANGE', 'SYSHPARTTABLEINFO');
SELECT kit.check(EXISTS (SELECT FROM "SYSOBJECTS" WHERE "NAME" = 'SYS' AND "TYPE$" = 'SCH'), 'system schemas');
-- A global temporary table is listed as such and leaves nothing in the log.
CREATE UNLOGGED TABLE "Dict"."GTT"("ID" int PRIMARY KEY);
SELECT kit.same((SELECT string_agg("TABLE_NAME" || ' ' || "TEMPORARY", ',' ORDER BY "TABLE_NAME") FROM "ALL_TABLES" WHERE "OWNER" = 'Dict'), 'GTT Y,PT N,Parent N,T N', 'TEMPORARY');
SELECT kit.here() AS low \gset
INSERT INTO "Dict"."GTT" VALUES (1);
SELECT kit.same((SELECT count(*) FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1), 0::bigint, 'temporary rows');
DROP TABLE "Dict"."GTT";
-- A partition's rows are logged under the table's name.
SELECT kit.here() AS low \gset
INSERT INTO "Dict"."PT" VALUES (5);
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1), 'INSERT INTO "Dict"."PT"("ID") VALUES(5)', 'partitions');
-- Or under the partition's own name and number: which of the two DM8 does is not known (lever). A row that moves to another partition
-- leaves one and comes into the other (RLOG_LLOG_UPD_TO_DEL_INS = 1); a partition's TRUNCATE is told of as its root's.
UPDATE logminer.setting SET value = 'own' WHERE name = 'partition_rows';
UPDATE logminer.setting SET value = 'on' WHERE name = 'ddl';
SELECT kit.here() AS low \gset
UPDATE "Dict"."PT" SET "ID" = 150 WHERE "ID" = 5;
TRUNCATE "Dict"."PT1";
TRUNCATE "Dict"."PT";
SELECT kit.same((SELECT string_agg(concat_ws(' ', "OPERATION_CODE", "TABLE_NAME", "DATA_OBJ#" = format('"Dict".%I', "TABLE_NAME")::regclass::oid::bigint, "SQL_REDO"), E'\n') FROM kit.mine(:low) WHERE "OPERATION_CODE" IN (1, 2, 5)),
  '2 PT1 t DELETE FROM "Dict"."PT1" WHERE "ID" = 5
1 PT2_A t INSERT INTO "Dict"."PT2_A"("ID") VALUES(150)
5 PT t ALTER TABLE "Dict"."PT" TRUNCATE PARTITION "PT1"
5 PT t TRUNCATE "Dict"."PT"', 'partitions by their own names');
UPDATE logminer.setting SET value = 'off' WHERE name = 'ddl';
UPDATE logminer.setting SET value = 'root' WHERE name = 'partition_rows';
-- Every table gets its trigger when it is made; a dropped one leaves nothing behind.
CREATE TABLE "Dict"."AS" AS SELECT 1 AS "X";
SELECT kit.check(EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '"Dict"."AS"'::regclass AND tgname = '!logminer'), 'CREATE TABLE AS');
SELECT 'log_' || '"Dict"."AS"'::regclass::oid AS fn \gset
DROP TABLE "Dict"."AS";
SELECT kit.check(NOT EXISTS (SELECT FROM pg_proc WHERE proname = :'fn'), 'DROP TABLE');
ALTER TABLE "Dict"."Parent" RENAME TO "Renamed";
ALTER TABLE "Dict"."Renamed" RENAME COLUMN "A" TO "Z";
SELECT kit.here() AS low \gset
INSERT INTO "Dict"."Renamed" VALUES (1, 'q');
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1), 'INSERT INTO "Dict"."Renamed"("Z", "B") VALUES(1, ''q'')', 'renamed');
