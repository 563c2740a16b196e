-- ROLLBACK TO SAVEPOINT: compensating rows (C header: ROLL_BACK = 1 if generated because of a partial rollback), newest first,
-- same table and ROW_ID, at the scn of the rollback. What DM8 really shows is not measured.
CREATE SCHEMA "SP";
CREATE TABLE "SP"."T"("ID" int PRIMARY KEY, "V" varchar(20));
INSERT INTO "SP"."T" VALUES (1, 'it''s'), (2, NULL);
SELECT kit.here() AS low \gset
BEGIN;
SAVEPOINT before;
INSERT INTO "SP"."T" VALUES (3, 'c');
SAVEPOINT a;
UPDATE "SP"."T" SET "V" = NULL WHERE "ID" = 1;
SAVEPOINT b;
UPDATE "SP"."T" SET "V" = 'x''y' WHERE "ID" = 2;
RELEASE b;
DELETE FROM "SP"."T" WHERE "ID" = 3;
ROLLBACK TO a;
UPDATE "SP"."T" SET "V" = 'end' WHERE "ID" = 2;
COMMIT;
SELECT kit.same(kit.story('SP', :low), $$t1 START
t1 INSERT INSERT INTO "SP"."T"("ID", "V") VALUES(3, 'c')
t1 UPDATE UPDATE "SP"."T" SET "V" = NULL WHERE "ID" = 1 AND "V" = 'it''s'
t1 UPDATE UPDATE "SP"."T" SET "V" = 'x''y' WHERE "ID" = 2 AND "V" IS NULL
t1 DELETE DELETE FROM "SP"."T" WHERE "ID" = 3 AND "V" = 'c'
t1 INSERT (undo) INSERT INTO "SP"."T"("ID", "V") VALUES(3, 'c')
t1 UPDATE (undo) UPDATE "SP"."T" SET "V" = NULL WHERE "ID" = 2 AND "V" = 'x''y'
t1 UPDATE (undo) UPDATE "SP"."T" SET "V" = 'it''s' WHERE "ID" = 1 AND "V" IS NULL
t1 UPDATE UPDATE "SP"."T" SET "V" = 'end' WHERE "ID" = 2 AND "V" IS NULL
t1 COMMIT$$, 'undo, newest first');
SELECT kit.check(bool_and(u."ROW_ID" = r."ROW_ID"), 'an undo names the row of what it undoes')
FROM (SELECT row_number() OVER () AS n, * FROM kit.mine(:low) WHERE "ROLL_BACK" = 1) u
JOIN (SELECT 4 - row_number() OVER () AS n, * FROM kit.mine(:low) WHERE "SQL_REDO" LIKE ANY (ARRAY['%''it''''s''', '%SET "V" = ''x''''y''%', 'DELETE%']) AND "ROLL_BACK" = 0) r USING (n);
SELECT kit.check(count(DISTINCT "SCN") = 1, 'at one scn') FROM kit.mine(:low) WHERE "ROLL_BACK" = 1;

-- A window that begins after the changes still shows their undo.
SELECT "SCN" AS undo_scn FROM kit.mine(:low) WHERE "ROLL_BACK" = 1 LIMIT 1 \gset
SELECT kit.same(kit.story('SP', :undo_scn), $$t1 INSERT (undo) INSERT INTO "SP"."T"("ID", "V") VALUES(3, 'c')
t1 UPDATE (undo) UPDATE "SP"."T" SET "V" = NULL WHERE "ID" = 2 AND "V" = 'x''y'
t1 UPDATE (undo) UPDATE "SP"."T" SET "V" = 'it''s' WHERE "ID" = 1 AND "V" IS NULL
t1 UPDATE UPDATE "SP"."T" SET "V" = 'end' WHERE "ID" = 2 AND "V" IS NULL
t1 COMMIT$$, 'undo of changes before the window');

-- The same where what was before the window is known only from a remembered state: enough log in between that one is written.
SELECT kit.here() AS low \gset
BEGIN;
INSERT INTO "SP"."T" VALUES (10, 'kept');
SAVEPOINT a;
INSERT INTO "SP"."T" VALUES (11, 'undone');
SELECT kit.open('a');
SELECT kit.run('a', 'CREATE TABLE "SP"."FILL"("A" varchar(1000))');
SELECT kit.run('a', 'INSERT INTO "SP"."FILL" SELECT repeat(''x'', 900) FROM generate_series(1, 300)');
SELECT "SCN" AS late FROM kit.mine(:low) WHERE "OPERATION_CODE" = 7 ORDER BY "SCN" DESC LIMIT 1 \gset
ROLLBACK TO a;
COMMIT;
SELECT kit.check(EXISTS (SELECT FROM logminer.state_files() f, pg_read_file('logminer/' || f.name) t WHERE t LIKE '%"tops": [{%' AND t LIKE '%"subs": [{%'), 'a state with an open transaction was kept');
SELECT kit.same(regexp_replace(kit.story('SP', :late), 't\d ', '', 'g'), E'DELETE (undo) DELETE FROM "SP"."T" WHERE "ID" = 11 AND "V" = ''undone''\nCOMMIT', 'undo over a remembered state');
SELECT kit.close('a');

-- A state may be kept for a position inside a record: the record's change is undone all the same.
SELECT count(pg_logical_emit_message(false, 'fill', repeat('x', 1000))) FROM generate_series(1, 100) \g /dev/null
BEGIN;
SAVEPOINT a;
INSERT INTO "SP"."T" VALUES (40, 'undone');
SELECT max("SCN") + 16 AS inside FROM kit.mine(:late) WHERE "SQL_REDO" LIKE '%(40, ''undone'')' \gset
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f logminer/state-*';
SELECT kit.same((SELECT count(*) FROM kit.mine(:inside, :inside)), 0::bigint, 'no record begins there');
SELECT kit.check(EXISTS (SELECT FROM logminer.state_files() WHERE lsn = logminer.lsn(:inside, 1)), 'a state inside a record');
ROLLBACK TO a;
COMMIT;
SELECT kit.check(EXISTS (SELECT FROM kit.mine(:inside) WHERE "ROLL_BACK" = 1 AND "SQL_REDO" LIKE 'DELETE%40%'), 'undo of a change that stands across a remembered state');

-- No moment with an open transaction is taken for an idle one, also if no younger one has ended.
BEGIN;
INSERT INTO "SP"."T" VALUES (50, 'open');
SELECT kit.here() AS opened \gset
SELECT count(pg_logical_emit_message(false, 'fill', repeat('x', 1000))) FROM generate_series(1, 400) \g /dev/null
SELECT kit.here() \g /dev/null
SELECT logminer.mark_idle() \g /dev/null
SELECT kit.check(NOT EXISTS (SELECT FROM logminer.state_files() WHERE lsn > logminer.lsn(:opened, 1)), 'not idle');
ROLLBACK;
SELECT kit.here() \g /dev/null
SELECT logminer.mark_idle() \g /dev/null
SELECT kit.check(EXISTS (SELECT FROM logminer.state_files() WHERE lsn > logminer.lsn(:opened, 1)), 'idle');

-- Undo all, go on: there is one START, and a failing statement inside a block is a savepoint too.
SELECT kit.here() AS low \gset
BEGIN;
SAVEPOINT a;
INSERT INTO "SP"."T" VALUES (20, 'a');
ROLLBACK TO a;
DO $$ BEGIN INSERT INTO "SP"."T" VALUES (21, 'b'); INSERT INTO "SP"."T" VALUES (1, 'dup'); EXCEPTION WHEN unique_violation THEN NULL; END $$;
INSERT INTO "SP"."T" VALUES (22, 'c');
COMMIT;
SELECT kit.same(kit.story('SP', :low), $$t1 START
t1 INSERT INSERT INTO "SP"."T"("ID", "V") VALUES(20, 'a')
t1 DELETE (undo) DELETE FROM "SP"."T" WHERE "ID" = 20 AND "V" = 'a'
t1 INSERT INSERT INTO "SP"."T"("ID", "V") VALUES(21, 'b')
t1 DELETE (undo) DELETE FROM "SP"."T" WHERE "ID" = 21 AND "V" = 'b'
t1 INSERT INSERT INTO "SP"."T"("ID", "V") VALUES(22, 'c')
t1 COMMIT$$, 'one START');

-- A subtransaction that changed no captured table and is rolled back is no transaction: no row of its own.
SELECT kit.here() AS low \gset
BEGIN;
INSERT INTO "SP"."T" VALUES (30, 'x');
SAVEPOINT a;
SELECT 1 FROM "SP"."T" WHERE "ID" = 1 FOR UPDATE \g /dev/null
ROLLBACK TO a;
SAVEPOINT b;
CREATE TEMP TABLE nobody(x int); INSERT INTO nobody VALUES (1);
ROLLBACK TO b;
COMMIT;
SELECT kit.same((SELECT string_agg("OPERATION", ' ') FROM kit.mine(:low) WHERE "OPERATION_CODE" <> 7), 'START INSERT', 'silent subtransactions');
-- Likewise without any change before it, and with 100 of them.
SELECT kit.here() AS low \gset
BEGIN;
SELECT pg_current_xact_id() AS x \gset
DO $$ BEGIN FOR i IN 1 .. 100 LOOP BEGIN PERFORM 1 FROM "SP"."T" WHERE "ID" = 1 FOR UPDATE; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$;
ROLLBACK;
SELECT kit.same((SELECT string_agg("OPERATION" || ' ' || ("XID" = int8send(:x)), ' ') FROM kit.mine(:low)), 'START true ROLLBACK true', '100 silent subtransactions');
