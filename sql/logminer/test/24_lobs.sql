-- Large values (lever `lob` = out): a CLOB or BLOB of more than LOB_MAX_INROW_LEN (900) bytes stands in SQL_REDO as OUT_CLOB, with LOGMNR_PARSE_LOB = 1 as
-- OUT_CLOB(LOB_ID: n) (measured at 10 and 3,000 characters; that 900 decides, and OUT_BLOB, are inferred).
CREATE SCHEMA "LOB";
CREATE TABLE "LOB"."T"("ID" int PRIMARY KEY, "C" clob, "B" blob, "V" varchar(4000));
SELECT kit.here() AS low \gset
INSERT INTO "LOB"."T" VALUES (0, repeat('x', 901), NULL, NULL);
SELECT kit.check("SQL_REDO" LIKE '%xxx%', 'in the row by default') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1;
UPDATE logminer.setting SET value = 'out' WHERE name = 'lob';
SELECT kit.here() AS low \gset
INSERT INTO "LOB"."T" VALUES (1, repeat('x', 900), decode(repeat('ab', 900), 'hex'), repeat('v', 800)),
  (2, repeat('字', 301), decode(repeat('ab', 901), 'hex'), 'OUT_CLOB(LOB_ID: 1), "it''s"');
UPDATE "LOB"."T" SET "C" = repeat('y', 903) WHERE "ID" = 2;
UPDATE "LOB"."T" SET "C" = "C", "V" = NULL WHERE "ID" = 2;
DELETE FROM "LOB"."T" WHERE "ID" = 2;
CREATE FUNCTION pg_temp.texts(low bigint) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(replace(replace(replace("SQL_REDO", repeat('x', 900), '…'), repeat('AB', 900), '…'), repeat('v', 800), '…'), E'\n') FROM kit.mine(low) WHERE "SEG_OWNER" = 'LOB' $$;
SELECT kit.same(pg_temp.texts(:low), $$INSERT INTO "LOB"."T"("ID", "C", "B", "V") VALUES(1, '…', 0x…, '…')
INSERT INTO "LOB"."T"("ID", "C", "B", "V") VALUES(2, OUT_CLOB, OUT_BLOB, 'OUT_CLOB(LOB_ID: 1), "it''s"')
UPDATE "LOB"."T" SET "C" = OUT_CLOB WHERE "ID" = 2 AND "C" = OUT_CLOB AND "B" = OUT_BLOB AND "V" = 'OUT_CLOB(LOB_ID: 1), "it''s"'
UPDATE "LOB"."T" SET "V" = NULL WHERE "ID" = 2 AND "C" = OUT_CLOB AND "B" = OUT_BLOB AND "V" = 'OUT_CLOB(LOB_ID: 1), "it''s"'
DELETE FROM "LOB"."T" WHERE "ID" = 2 AND "C" = OUT_CLOB AND "B" = OUT_BLOB AND "V" IS NULL$$, 'without handles');
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_PARSE_LOB', 1);
SELECT kit.check(text ~ 'VALUES\(2, OUT_CLOB\(LOB_ID: \d+\), OUT_BLOB\(LOB_ID: \d+\), ''OUT_CLOB\(LOB_ID: 1\)' AND count = 5, 'with handles: ' || text)
FROM (SELECT string_agg("SQL_REDO", E'\n') AS text, count(*) FROM kit.mine(:low) WHERE "SEG_OWNER" = 'LOB' AND "CSF" = 0) m;
SELECT kit.same((SELECT count(DISTINCT h) FROM kit.mine(:low), regexp_matches("SQL_REDO", 'OUT_[CB]LOB\(LOB_ID: (\d{4,})\)', 'g') h), 3::bigint, 'a handle a value');
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_PARSE_LOB', 0);
-- They go with undo, with SQL_UNDO and with today's dictionary.
SELECT kit.here() AS low \gset
BEGIN; SAVEPOINT s; INSERT INTO "LOB"."T" VALUES (3, repeat('z', 1000), NULL, 'z'); ROLLBACK TO s; COMMIT;
SELECT kit.same(kit.story('LOB', :low), 't1 START
t1 INSERT INSERT INTO "LOB"."T"("ID", "C", "B", "V") VALUES(3, OUT_CLOB, NULL, ''z'')
t1 DELETE (undo) DELETE FROM "LOB"."T" WHERE "ID" = 3 AND "C" = OUT_CLOB AND "B" IS NULL AND "V" = ''z''
t1 COMMIT', 'undone');
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_GEN_UNDO', 1);
ALTER TABLE "LOB"."T" DROP COLUMN "V";
UPDATE logminer.setting SET value = 'current' WHERE name = 'dictionary';
SELECT kit.same((SELECT "SQL_REDO" || '|' || "SQL_UNDO" FROM kit.mine(:low) WHERE "OPERATION_CODE" = 1),
  'INSERT INTO "LOB"."T"("ID", "C", "B") VALUES(3, OUT_CLOB, NULL)|DELETE FROM "LOB"."T" WHERE "ID" = 3 AND "C" = OUT_CLOB AND "B" IS NULL', 'all at once');
UPDATE logminer.setting SET value = 'written' WHERE name = 'dictionary';
CALL SP_SET_PARA_VALUE(1, 'LOGMNR_GEN_UNDO', 0);
UPDATE logminer.setting SET value = 'inline' WHERE name = 'lob';
-- All levers as a DM8 was measured; and back.
BEGIN; CALL logminer.as_dm8();
SELECT kit.same((SELECT string_agg(value, ' ' ORDER BY name) FROM logminer.setting WHERE name IN ('ddl', 'dictionary', 'lob')), 'on current out', 'as_dm8');
ROLLBACK;
