-- After a crash each transaction that was open and not prepared gets its ROLLBACK; a prepared one lives on.
CREATE SCHEMA "CRASH";
CREATE SCHEMA "FILL"; CREATE TABLE "FILL"."T"("V" clob);
CREATE TABLE "CRASH"."T"("ID" int PRIMARY KEY, "V" varchar(2000));
SELECT kit.open('a'); SELECT kit.open('b'); SELECT kit.open('c');
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN; INSERT INTO "CRASH"."T" VALUES (1, ''a''); SAVEPOINT s; INSERT INTO "CRASH"."T" VALUES (2, ''a'')');
SELECT kit.run('b', 'BEGIN; INSERT INTO "CRASH"."T" VALUES (3, ''b'')');
SELECT kit.run('b', 'PREPARE TRANSACTION ''b''');
SELECT kit.run('c', 'INSERT INTO "CRASH"."T" VALUES (4, ''c'')');
SELECT kit.run('c', 'BEGIN; SAVEPOINT s; INSERT INTO "CRASH"."T" VALUES (5, ''c''); ROLLBACK TO s');
INSERT INTO "FILL"."T" SELECT repeat('f', 1000) FROM generate_series(1, 300);
SELECT kit.here() AS v \gset
SELECT kit.story('CRASH', :low) IS NOT NULL \g /dev/null
\! "$STAND_IN" kill "$STAND_IN_DIR" && "$STAND_IN" resume "$STAND_IN_DIR"
\c :PSQL
-- The rows of a transaction are the same before and after; the open ones end at one place, behind all that was there.
SELECT kit.same(kit.story('CRASH', :low), E't1 START
t1 INSERT INSERT INTO "CRASH"."T"("ID", "V") VALUES(1, \'a\')
t1 INSERT INSERT INTO "CRASH"."T"("ID", "V") VALUES(2, \'a\')
t2 START
t2 INSERT INSERT INTO "CRASH"."T"("ID", "V") VALUES(3, \'b\')
t2 PRE_COMMIT
t3 START
t3 INSERT INSERT INTO "CRASH"."T"("ID", "V") VALUES(4, \'c\')
t3 COMMIT
t4 START
t4 INSERT INSERT INTO "CRASH"."T"("ID", "V") VALUES(5, \'c\')
t4 DELETE (undo) DELETE FROM "CRASH"."T" WHERE "ID" = 5 AND "V" = \'c\'
t1 ROLLBACK
t4 ROLLBACK', 'after the crash');
SELECT kit.check(min("SCN") >= :v AND count(*) = 2 AND bool_and("TIMESTAMP" IS NOT NULL), 'where they end') FROM kit.mine(:low) WHERE "OPERATION_CODE" = 36;
-- A window that begins after the changes has them too, and one that begins after the crash has not.
SELECT kit.same((SELECT count(*) FROM kit.mine(:v) WHERE "OPERATION_CODE" = 36), 2::bigint, 'from the crash on');
SELECT max("SCN") + 1 AS after FROM kit.mine(:v) WHERE "OPERATION_CODE" = 36 \gset
SELECT kit.same((SELECT count(*) FROM kit.mine(:after) WHERE "OPERATION_CODE" = 36), 0::bigint, 'after it');
-- The prepared one: its session and its lock are gone, its START is not.
SELECT kit.same((SELECT "STATUS" || ' ' || "START_LSN" FROM "V$TRX"), 'PRE_COMMIT ' || (SELECT "SCN" FROM kit.mine(:low) WHERE "OPERATION_CODE" = 6
  AND "XID" = (SELECT "XID" FROM kit.mine(:low) WHERE "OPERATION_CODE" = 15)), 'V$TRX after the crash');
-- Once more, with it still prepared, and now it commits.
INSERT INTO "CRASH"."T" VALUES (1000, 'more');
SELECT kit.here() AS v \gset
\! "$STAND_IN" kill "$STAND_IN_DIR" && "$STAND_IN" resume "$STAND_IN_DIR"
\c :PSQL
COMMIT PREPARED 'b';
SELECT kit.same(kit.story('CRASH', :v, extra => ARRAY[(SELECT ('x' || encode("XID", 'hex'))::bit(64)::bigint FROM kit.mine(:v) WHERE "OPERATION_CODE" = 38)]), 't1 XA_COMMIT', 'committed after two crashes');
SELECT kit.same((SELECT count(*) FROM "CRASH"."T" WHERE "ID" = 3), 1::bigint, 'and its row is there');
SELECT kit.same((SELECT count(*) FROM kit.mine(:low) WHERE "OPERATION_CODE" = 36), 2::bigint, 'no ROLLBACK more');
