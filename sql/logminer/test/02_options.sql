-- START_LOGMNR's option bits (manual): 64 no delimiter, 2048 no ROWID, 2 committed only; any other bit has no effect.
CREATE SCHEMA "OPT";
CREATE TABLE "OPT"."T"("ID" int PRIMARY KEY);
SELECT kit.here() AS low \gset
INSERT INTO "OPT"."T" VALUES (1);
DELETE FROM "OPT"."T";
SELECT "ROW_ID" AS row_id FROM kit.mine(:low) WHERE "OPERATION_CODE" = 2 \gset
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(:low, 0, o.bits)  WHERE "TABLE_NAME" = 'T'), o.text, 'options ' || o.bits)
FROM (VALUES (2128, 'INSERT INTO "OPT"."T"("ID") VALUES(1)|DELETE FROM "OPT"."T" WHERE "ID" = 1'),
             (2128 + 1 + 4 + 8 + 1024, 'INSERT INTO "OPT"."T"("ID") VALUES(1)|DELETE FROM "OPT"."T" WHERE "ID" = 1'),
             (2064, 'INSERT INTO "OPT"."T"("ID") VALUES(1);|DELETE FROM "OPT"."T" WHERE "ID" = 1;'),
             (80, 'INSERT INTO "OPT"."T"("ID") VALUES(1)|DELETE FROM "OPT"."T" WHERE "ID" = 1 AND ROWID = ''' || :'row_id' || ''''),
             (0, 'INSERT INTO "OPT"."T"("ID") VALUES(1);|DELETE FROM "OPT"."T" WHERE "ID" = 1 AND ROWID = ''' || :'row_id' || ''';')) o(bits, text);

-- COMMITTED_DATA_ONLY: no rolled back transaction, no undone change, and a transaction that crosses the window is not there.
SELECT kit.here() AS low \gset
BEGIN; INSERT INTO "OPT"."T" VALUES (1); ROLLBACK;
BEGIN; INSERT INTO "OPT"."T" VALUES (2); SAVEPOINT a; INSERT INTO "OPT"."T" VALUES (3); ROLLBACK TO a; COMMIT;
SELECT kit.open('a'); SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'INSERT INTO "OPT"."T" VALUES (4)');
SELECT kit.here() AS middle \gset
INSERT INTO "OPT"."T" VALUES (5);
SELECT kit.run('a', 'COMMIT'); SELECT kit.close('a');
SELECT kit.same(kit.story('OPT', :low, options => 2130), E't1 START\nt1 INSERT INSERT INTO "OPT"."T"("ID") VALUES(2)\nt1 COMMIT
t2 START\nt2 INSERT INSERT INTO "OPT"."T"("ID") VALUES(4)\nt3 START\nt3 INSERT INSERT INTO "OPT"."T"("ID") VALUES(5)\nt3 COMMIT\nt2 COMMIT', 'committed only');
SELECT kit.same(kit.story('OPT', :middle, options => 2130), E't1 START\nt1 INSERT INSERT INTO "OPT"."T"("ID") VALUES(5)\nt1 COMMIT', 'committed only, crossing the start');
