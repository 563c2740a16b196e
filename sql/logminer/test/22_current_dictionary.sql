-- Texts are composed with the table information of now (manual); lever `dictionary` = current. An added column is NULL in an older INSERT
-- (measured); a table that is gone cannot be mined (manual); DROP, RENAME and MODIFY of a column are not measured: levers.
CREATE SCHEMA "CUR";
CREATE TABLE "CUR"."T"("ID" int PRIMARY KEY, "A" varchar(20), "B" int, "C" clob);
CREATE TABLE "CUR"."U"("ID" int);
SELECT kit.here() AS low \gset
INSERT INTO "CUR"."T" VALUES (1, 'it''s, "B" = 2', 5, NULL);
UPDATE "CUR"."T" SET "A" = 'x', "B" = NULL;
UPDATE "CUR"."T" SET "B" = 6;
DELETE FROM "CUR"."T";
INSERT INTO "CUR"."U" VALUES (7);
SELECT kit.here() AS high \gset
CREATE FUNCTION pg_temp.texts(low bigint, high bigint) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg("OPERATION_CODE" || ' ' || coalesce("SQL_REDO", '-'), E'\n') FROM kit.mine(low, high) WHERE "SEG_OWNER" = 'CUR' $$;
SELECT pg_temp.texts(:low, :high) AS written \gset
UPDATE logminer.setting SET value = 'current' WHERE name = 'dictionary';
SELECT kit.same(pg_temp.texts(:low, :high), :'written', 'nothing has changed yet');
ALTER TABLE "CUR"."T" ADD COLUMN "N" int DEFAULT 9;
SELECT kit.same(pg_temp.texts(:low, :high), $$1 INSERT INTO "CUR"."T"("ID", "A", "B", "C", "N") VALUES(1, 'it''s, "B" = 2', 5, NULL, NULL)
3 UPDATE "CUR"."T" SET "A" = 'x', "B" = NULL WHERE "ID" = 1 AND "A" = 'it''s, "B" = 2' AND "B" = 5 AND "C" IS NULL AND "N" IS NULL
3 UPDATE "CUR"."T" SET "B" = 6 WHERE "ID" = 1 AND "A" = 'x' AND "B" IS NULL AND "C" IS NULL AND "N" IS NULL
2 DELETE FROM "CUR"."T" WHERE "ID" = 1 AND "A" = 'x' AND "B" = 6 AND "C" IS NULL AND "N" IS NULL
1 INSERT INTO "CUR"."U"("ID") VALUES(7)$$, 'an added column is NULL');
SELECT kit.check(bool_and("DATA_OBJV#" = 1), 'the version is the record''s own') FROM kit.mine(:low, :high) WHERE "TABLE_NAME" = 'T';
-- Dropped, renamed: by the column's identity; an UPDATE of nothing but what is gone is no row.
ALTER TABLE "CUR"."T" DROP COLUMN "B";
ALTER TABLE "CUR"."T" RENAME COLUMN "A" TO "R";
ALTER TABLE "CUR"."T" RENAME TO "V";
SELECT kit.same(pg_temp.texts(:low, :high), $$1 INSERT INTO "CUR"."V"("ID", "R", "C", "N") VALUES(1, 'it''s, "B" = 2', NULL, NULL)
3 UPDATE "CUR"."V" SET "R" = 'x' WHERE "ID" = 1 AND "R" = 'it''s, "B" = 2' AND "C" IS NULL AND "N" IS NULL
2 DELETE FROM "CUR"."V" WHERE "ID" = 1 AND "R" = 'x' AND "C" IS NULL AND "N" IS NULL
1 INSERT INTO "CUR"."U"("ID") VALUES(7)$$, 'dropped and renamed');
-- The levers: rows vanish, or are UNSUPPORTED.
UPDATE logminer.setting SET value = 'vanish' WHERE name = 'renamed';
SELECT kit.same(pg_temp.texts(:low, :high), '1 INSERT INTO "CUR"."U"("ID") VALUES(7)', 'renamed: vanish');
UPDATE logminer.setting SET value = 'render' WHERE name = 'renamed';
UPDATE logminer.setting SET value = 'unsupported' WHERE name = 'dropped_column';
SELECT kit.same(pg_temp.texts(:low, :high), E'255 -\n255 -\n255 -\n255 -\n1 INSERT INTO "CUR"."U"("ID") VALUES(7)', 'dropped: unsupported');
SELECT kit.same((SELECT string_agg("OPERATION", ' ') FROM kit.mine(:low, :high) WHERE "OPERATION_CODE" = 255), 'UNSUPPORTED UNSUPPORTED UNSUPPORTED UNSUPPORTED', 'by name');
UPDATE logminer.setting SET value = 'render' WHERE name = 'dropped_column';
SELECT kit.here() AS low2 \gset
INSERT INTO "CUR"."V" VALUES (2, 'r', NULL, 1);
SELECT kit.here() AS high2 \gset
ALTER TABLE "CUR"."V" ALTER COLUMN "N" TYPE decimal(10,2);
SELECT kit.same(pg_temp.texts(:low2, :high2), '1 INSERT INTO "CUR"."V"("ID", "R", "C", "N") VALUES(2, ''r'', NULL, 1)', 'modified: as written');
UPDATE logminer.setting SET value = 'vanish' WHERE name = 'modified_column';
SELECT kit.same(pg_temp.texts(:low2, :high2), NULL, 'modified: vanish');
UPDATE logminer.setting SET value = 'render' WHERE name = 'modified_column';
-- A table that is gone: no rows, also if there is a new one of its name; START and COMMIT stay.
DROP TABLE "CUR"."U";
CREATE TABLE "CUR"."U"("ID" int, "X" int);
INSERT INTO "CUR"."U" VALUES (8, 8);
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(:low) WHERE "TABLE_NAME" = 'U'), 'INSERT INTO "CUR"."U"("ID", "X") VALUES(8, 8)', 'the old table''s rows vanish');
SELECT kit.same((SELECT count(*) FROM kit.mine(:low, :high) WHERE "OPERATION_CODE" IN (6, 7)), 10::bigint, 'transactions stay');
UPDATE logminer.setting SET value = 'unsupported' WHERE name = 'dropped_table';
SELECT kit.same((SELECT string_agg("OPERATION_CODE"::text, ' ') FROM kit.mine(:low) WHERE "TABLE_NAME" = 'U'), '255 1', 'dropped table: unsupported');
UPDATE logminer.setting SET value = 'vanish' WHERE name = 'dropped_table';
UPDATE logminer.setting SET value = 'written' WHERE name = 'dictionary';
SELECT kit.same(pg_temp.texts(:low, :high), :'written', 'as written again');
