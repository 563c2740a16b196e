-- Two-phase commit: 15 PRE_COMMIT, 38 XA_COMMIT (manual's operation codes), 36 for its rollback.
CREATE SCHEMA "XA";
CREATE TABLE "XA"."T"("ID" int PRIMARY KEY);
SELECT kit.here() AS low \gset
BEGIN; INSERT INTO "XA"."T" VALUES (1); SAVEPOINT a; INSERT INTO "XA"."T" VALUES (2); RELEASE a; SAVEPOINT b; INSERT INTO "XA"."T" VALUES (3); ROLLBACK TO b;
PREPARE TRANSACTION 'one; subxacts: 7: 2020-01-01 00:00:00+00';
BEGIN; INSERT INTO "XA"."T" VALUES (4);
PREPARE TRANSACTION 'two';
INSERT INTO "XA"."T" VALUES (5);
COMMIT PREPARED 'one; subxacts: 7: 2020-01-01 00:00:00+00';
ROLLBACK PREPARED 'two';
SELECT kit.same(kit.story('XA', :low), $$t1 START
t1 INSERT INSERT INTO "XA"."T"("ID") VALUES(1)
t1 INSERT INSERT INTO "XA"."T"("ID") VALUES(2)
t1 INSERT INSERT INTO "XA"."T"("ID") VALUES(3)
t1 DELETE (undo) DELETE FROM "XA"."T" WHERE "ID" = 3
t1 PRE_COMMIT
t2 START
t2 INSERT INSERT INTO "XA"."T"("ID") VALUES(4)
t2 PRE_COMMIT
t3 START
t3 INSERT INSERT INTO "XA"."T"("ID") VALUES(5)
t3 COMMIT
t1 XA_COMMIT
t2 ROLLBACK$$, 'prepared transactions');
SELECT kit.check(bool_and("TIMESTAMP" > LOCALTIMESTAMP - interval '1 minute'), 'times') FROM kit.mine(:low) WHERE "OPERATION_CODE" IN (15, 36, 38);
-- Nothing changed: START comes before PRE_COMMIT only.
SELECT kit.here() AS low \gset
BEGIN; SELECT pg_current_xact_id() AS x \gset
PREPARE TRANSACTION 'empty';
COMMIT PREPARED 'empty';
SELECT kit.same(kit.story('XA', :low, extra => ARRAY[:x]), E't1 START\nt1 PRE_COMMIT\nt1 XA_COMMIT', 'nothing in it');
