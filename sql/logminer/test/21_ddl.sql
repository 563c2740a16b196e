-- DDL rows (lever `ddl`): operation 5, the text as typed, START and COMMIT around it, SEG_OWNER and TABLE_NAME filled, both empty for
-- CREATE SCHEMA (measured). Decided here: TRUNCATE and CREATE INDEX under the table's name, a rename under the old one.
SELECT kit.here() AS low \gset
CREATE SCHEMA "QUIET"; CREATE TABLE "QUIET"."T"("A" int); DROP SCHEMA "QUIET" CASCADE;
SELECT kit.same((SELECT count(*) FROM kit.mine(:low) WHERE "OPERATION_CODE" = 5), 0::bigint, 'off by default');
UPDATE logminer.setting SET value = 'on' WHERE name = 'ddl';
CREATE FUNCTION pg_temp.ddl(low bigint) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(concat_ws('|', coalesce("SEG_OWNER", '-'), coalesce("TABLE_NAME", '-'), "SQL_REDO"), E'\n')
  FROM kit.mine(low) WHERE "OPERATION" = 'DDL' AND "OPERATION_CODE" = 5 $$;
SELECT kit.here() AS low \gset
CREATE SCHEMA "DDL";
create  table "DDL".t_one (a int primary key,
  b varchar(20) default 'x;y');
ALTER TABLE "DDL".t_one ADD COLUMN "C" int;
CREATE INDEX ix ON "DDL".t_one(b);
TRUNCATE TABLE "DDL".t_one;
ALTER TABLE "DDL".t_one RENAME TO t_two;
CREATE TEMP TABLE not_logged(a int);
DROP TABLE not_logged;
CREATE TABLE "DDL"."AS" AS SELECT 1 AS "X";
DROP TABLE "DDL".t_two;
DROP SCHEMA "DDL" CASCADE;
SELECT kit.same(pg_temp.ddl(:low), $$-|-|CREATE SCHEMA "DDL"
DDL|t_one|create  table "DDL".t_one (a int primary key,
  b varchar(20) default 'x;y')
DDL|t_one|ALTER TABLE "DDL".t_one ADD COLUMN "C" int
DDL|t_one|CREATE INDEX ix ON "DDL".t_one(b)
DDL|t_one|TRUNCATE TABLE "DDL".t_one
DDL|t_one|ALTER TABLE "DDL".t_one RENAME TO t_two
DDL|AS|CREATE TABLE "DDL"."AS" AS SELECT 1 AS "X"
DDL|t_two|DROP TABLE "DDL".t_two
-|-|DROP SCHEMA "DDL" CASCADE$$, 'texts as typed');
-- Each in a transaction of its own; delimiter by option bit 64.
SELECT kit.check(bool_and(codes ~ '^6 5( 1)? 7$') AND count(*) = 9, 'START, DDL, COMMIT') FROM (
  SELECT string_agg("OPERATION_CODE"::text, ' ' ORDER BY place) AS codes FROM (SELECT row_number() OVER () AS place, * FROM kit.mine(:low)) m
  GROUP BY "XID" HAVING bool_or("OPERATION_CODE" = 5)) x;
SELECT kit.check(bool_and("SQL_REDO" LIKE '%;'), 'delimiter') FROM kit.mine(:low, options => 2064) WHERE "OPERATION_CODE" = 5;
-- Several statements in one query, statements of a function, quotes and comments.
SELECT kit.open('a');
SELECT kit.here() AS low \gset
SELECT kit.run('a', $q$CREATE SCHEMA "D2"; -- it's; one
  CREATE TABLE "D2"."A"("X" int); CREATE TABLE "D2"."B"("Y" varchar(9) DEFAULT 'CREATE TABLE "D2"."C";'); INSERT INTO "D2"."A" VALUES (1);
  /* ; */ ALTER TABLE "D2"."A" ADD "Z" int; ALTER TABLE "D2"."A" DROP "Z"; TRUNCATE "D2"."A", "D2"."B"$q$);
DO $$ BEGIN CREATE TABLE "D2"."C"("X" varchar(9) DEFAULT 'q"q'); EXECUTE 'ALTER TABLE "D2"."C" ADD "Y" int'; END $$;
SELECT kit.same(pg_temp.ddl(:low), $$-|-|CREATE SCHEMA "D2"
D2|A|-- it's; one
  CREATE TABLE "D2"."A"("X" int)
D2|B|CREATE TABLE "D2"."B"("Y" varchar(9) DEFAULT 'CREATE TABLE "D2"."C";')
D2|A|/* ; */ ALTER TABLE "D2"."A" ADD "Z" int
D2|A|ALTER TABLE "D2"."A" DROP "Z"
D2|A|TRUNCATE "D2"."A", "D2"."B"
D2|B|TRUNCATE "D2"."A", "D2"."B"
D2|C|CREATE TABLE "D2"."C"("X" varchar(9) DEFAULT 'q"q')
D2|C|ALTER TABLE "D2"."C" ADD "Y" int$$, 'one statement each');
SELECT kit.close('a');
-- DATA_OBJ# is the table's, DATA_OBJV# counts its definitions (manual: table id, table version): not by TRUNCATE.
SELECT kit.same((SELECT string_agg("DATA_OBJV#"::text, ' ') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 5 AND "TABLE_NAME" = 'A'), '1 2 3 3', 'versions');
SELECT kit.same((SELECT count(DISTINCT "DATA_OBJ#") FROM kit.mine(:low) WHERE "TABLE_NAME" = 'A'), 1::bigint, 'one id');
SELECT kit.same((SELECT "INFO4" & 4294967295 FROM "SYSOBJECTS" WHERE "ID" = '"D2"."A"'::regclass::oid::int), 3::bigint, 'SYSOBJECTS.INFO4');
DROP TABLE "D2"."A"; CREATE TABLE "D2"."A"("X" int);
SELECT kit.same((SELECT count(DISTINCT "DATA_OBJ#") FROM kit.mine(:low) WHERE "TABLE_NAME" = 'A'), 2::bigint, 'a table made anew has another id');
-- Rolled back, it stands in a transaction that is rolled back.
SELECT kit.here() AS low \gset
BEGIN; ALTER TABLE "D2"."B" ADD "Q" int; ROLLBACK;
SELECT kit.same((SELECT string_agg("OPERATION", ' ') FROM kit.mine(:low)), 'START DDL ROLLBACK', 'rolled back');
UPDATE logminer.setting SET value = 'off' WHERE name = 'ddl';
