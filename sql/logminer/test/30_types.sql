-- Types that DM8 has beside PostgreSQL's (manual: types, SYSCOLUMNS, SYSCOLINFOS). How INTERVAL, TIME WITH TIME ZONE and virtual columns stand
-- in SQL_REDO was not measured: decided here, README says how.
CREATE SCHEMA "TYPES";
CREATE TABLE "TYPES"."T"("ID" int PRIMARY KEY, "YM" interval_year_to_month, "MO" interval_month, "DS" interval_day_to_second, "HO" interval_hour,
  "SE" interval_second, "TT" timetz(6), "D2" datetime2, "OD" date_with_time, "TL" timestamp_local, "F" decimal_float, "N" numeric(6,-2),
  "G" int GENERATED ALWAYS AS ("ID" * 2) STORED);
SET timezone = 'America/New_York'; SET intervalstyle = 'postgres_verbose';
SELECT kit.here() AS low \gset
INSERT INTO "TYPES"."T" VALUES (1, '-1 years -2 months', '14 months', '-3 days -4 hours -5 minutes -6.7 seconds', '30 hours', '90.000001 seconds', '10:20:30.12+05:30',
  '2024-02-29 10:20:30.123456789', '2024-02-29 10:20:30', '2024-02-29 10:20:30+08', 0.1, 123456, DEFAULT);
SELECT kit.same(kit.story('TYPES', :low), $$t1 START
t1 INSERT INSERT INTO "TYPES"."T"("ID", "YM", "MO", "DS", "HO", "SE", "TT", "D2", "OD", "TL", "F", "N", "G") VALUES(1, INTERVAL'-1-2' YEAR TO MONTH, INTERVAL'14' MONTH, INTERVAL'-3 04:05:06.700000' DAY TO SECOND, INTERVAL'30' HOUR, INTERVAL'90.000001' SECOND, TIME'10:20:30.120000 +05:30', TIMESTAMP'2024-02-29 10:20:30.123456789', TIMESTAMP'2024-02-29 10:20:30.000000', TIMESTAMP'2024-02-29 10:20:30.000000 +08:00', 0.1, 123500, 2)
t1 COMMIT$$, 'texts');

SELECT kit.same((SELECT string_agg(format('%s %s %s', "COLUMN_NAME", "DATA_TYPE", "DATA_SCALE"), ', ' ORDER BY "COLUMN_ID") FROM "SYS"."ALL_TAB_COLUMNS" WHERE "OWNER" = 'TYPES'),
  'ID INT 0, YM INTERVAL YEAR TO MONTH , MO INTERVAL MONTH , DS INTERVAL DAY TO SECOND , HO INTERVAL HOUR , SE INTERVAL SECOND , TT TIME WITH TIME ZONE 6, D2 DATETIME2 9, OD DATE , TL TIMESTAMP WITH LOCAL TIME ZONE 4102, F FLOAT 129, N DECIMAL -2, G INT 0',
  'dictionary');
SELECT kit.same((SELECT string_agg(format('%s %s', c."NAME", i."INFO1"), ', ' ORDER BY c."COLID") FROM "SYS"."SYSCOLUMNS" c JOIN "SYS"."SYSCOLINFOS" i USING ("ID", "COLID")
  WHERE c."ID" = '"TYPES"."T"'::regclass::integer), 'OD 8, G 1', 'marks');

UPDATE logminer.setting SET value = 'absent' WHERE name = 'virtual_column';
CREATE TABLE "TYPES"."V"("ID" int PRIMARY KEY, "G" int GENERATED ALWAYS AS ("ID" * 2) STORED);
SELECT kit.here() AS low \gset
INSERT INTO "TYPES"."V" VALUES (1);
UPDATE "TYPES"."V" SET "ID" = 2;
SELECT kit.same(kit.story('TYPES', :low), $$t1 START
t1 INSERT INSERT INTO "TYPES"."V"("ID") VALUES(1)
t1 COMMIT
t2 START
t2 UPDATE UPDATE "TYPES"."V" SET "ID" = 2 WHERE "ID" = 1
t2 COMMIT$$, 'without virtual columns');
UPDATE logminer.setting SET value = 'written' WHERE name = 'virtual_column';
