-- Forms between which the sources do not decide: undone changes flagged (manual: "whether the record was rolled back") or followed by compensating
-- records (C header: "generated because of a rollback"); rows in log order or one transaction after the other by commit.
CREATE SCHEMA "FORM";
CREATE TABLE "FORM"."T"("ID" int PRIMARY KEY, "V" int);
SELECT kit.open('a'); SELECT kit.open('b');
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN; INSERT INTO "FORM"."T" VALUES (1, 1); SAVEPOINT s; INSERT INTO "FORM"."T" VALUES (2, 2)');
SELECT kit.run('b', 'BEGIN; INSERT INTO "FORM"."T" VALUES (3, 3)');
SELECT kit.here() AS early \gset
SELECT kit.run('a', 'UPDATE "FORM"."T" SET "V" = 9 WHERE "ID" = 1; ROLLBACK TO s; INSERT INTO "FORM"."T" VALUES (4, 4)');
SELECT kit.run('b', 'INSERT INTO "FORM"."T" VALUES (5, 5); COMMIT');
SELECT kit.run('a', 'COMMIT');
SELECT kit.run('b', 'BEGIN; INSERT INTO "FORM"."T" VALUES (6, 6); SAVEPOINT s; DELETE FROM "FORM"."T" WHERE "ID" = 1; RELEASE s');
SELECT kit.run('a', 'BEGIN; INSERT INTO "FORM"."T" VALUES (7, 7)');
SELECT kit.run('b', 'ROLLBACK');
CREATE FUNCTION pg_temp.story(low bigint, high bigint DEFAULT 0, options int DEFAULT 2128) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(kit.story('FORM', low, high, options => options), ' (INSERT INTO|UPDATE|DELETE FROM) "FORM"."T"(\("ID", "V"\) VALUES)?', '', 'g') $$;
SELECT pg_temp.story(:low) AS compensating \gset
UPDATE logminer.setting SET value = 'flagged' WHERE name = 'undo_form';
SELECT kit.same(pg_temp.story(:low), $$t1 START
t1 INSERT(1, 1)
t1 INSERT (undo)(2, 2)
t2 START
t2 INSERT(3, 3)
t1 UPDATE (undo) SET "V" = 9 WHERE "ID" = 1 AND "V" = 1
t1 INSERT(4, 4)
t2 INSERT(5, 5)
t2 COMMIT
t1 COMMIT
t3 START
t3 INSERT (undo)(6, 6)
t3 DELETE (undo) WHERE "ID" = 1 AND "V" = 1
t4 START
t4 INSERT(7, 7)
t3 ROLLBACK$$, 'flagged');
-- Also where the rollback lies beyond the window: the look-ahead goes to the end of the log.
SELECT kit.same(pg_temp.story(:low, :early), E't1 START\nt1 INSERT(1, 1)\nt1 INSERT (undo)(2, 2)\nt2 START\nt2 INSERT(3, 3)', 'beyond the window');
SELECT kit.same(pg_temp.story(:early + 1), array_to_string((string_to_array(pg_temp.story(:low), E'\n'))[6:], E'\n'), 'from the middle');
SELECT kit.same(pg_temp.story(:low, options => 2130), E't1 START\nt1 INSERT(1, 1)\nt2 START\nt2 INSERT(3, 3)\nt1 INSERT(4, 4)\nt2 INSERT(5, 5)\nt2 COMMIT\nt1 COMMIT', 'committed only');
-- COMMITTED_DATA_ONLY leaves out what ends beyond the window, in this form too.
SELECT kit.same((SELECT count(*) FROM kit.mine(:low, :early, 2130)), 0::bigint, 'committed only, crossing the end');
UPDATE logminer.setting SET value = 'compensating' WHERE name = 'undo_form';
SELECT kit.same(pg_temp.story(:low), :'compensating', 'compensating again');
SELECT kit.same((SELECT count(*) FROM kit.mine(:low, :early, 2130)), 0::bigint, 'crossing the end');

-- Contiguous, by the commit; what has not ended comes last; scns do not ascend over the transactions.
UPDATE logminer.setting SET value = 'commit' WHERE name = 'row_order';
SELECT kit.same(pg_temp.story(:low), $$t1 START
t1 INSERT(3, 3)
t1 INSERT(5, 5)
t1 COMMIT
t2 START
t2 INSERT(1, 1)
t2 INSERT(2, 2)
t2 UPDATE SET "V" = 9 WHERE "ID" = 1 AND "V" = 1
t2 UPDATE (undo) SET "V" = 1 WHERE "ID" = 1 AND "V" = 9
t2 DELETE (undo) WHERE "ID" = 2 AND "V" = 2
t2 INSERT(4, 4)
t2 COMMIT
t3 START
t3 INSERT(6, 6)
t3 DELETE WHERE "ID" = 1 AND "V" = 1
t3 ROLLBACK
t4 START
t4 INSERT(7, 7)$$, 'contiguous');
SELECT kit.same(pg_temp.story(:low, options => 2130), E't1 START\nt1 INSERT(3, 3)\nt1 INSERT(5, 5)\nt1 COMMIT\nt2 START\nt2 INSERT(1, 1)\nt2 INSERT(4, 4)\nt2 COMMIT', 'contiguous, committed only');
UPDATE logminer.setting SET value = 'log' WHERE name = 'row_order';
SELECT kit.same(pg_temp.story(:low), :'compensating', 'log order again');
SELECT kit.run('a', 'ROLLBACK'); SELECT kit.close('a'); SELECT kit.close('b');
