-- START, COMMIT and ROLLBACK are rows of their own (measured); records stand in log order, transactions interleaved.
CREATE SCHEMA "TX";
CREATE TABLE "TX"."T"("ID" int PRIMARY KEY, "V" int);
SELECT kit.open('a'); SELECT kit.open('b');
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('b', 'BEGIN');
SELECT kit.run('a', 'INSERT INTO "TX"."T" VALUES (1, 1)');
SELECT kit.run('b', 'INSERT INTO "TX"."T" VALUES (2, 2)');
SELECT kit.run('a', 'INSERT INTO "TX"."T" VALUES (3, 3)');
SELECT kit.run('b', 'COMMIT');
SELECT kit.run('a', 'UPDATE "TX"."T" SET "V" = 22 WHERE "ID" = 2');
SELECT kit.run('a', 'ROLLBACK');
SELECT kit.same(kit.story('TX', :low), E't1 START
t1 INSERT INSERT INTO "TX"."T"("ID", "V") VALUES(1, 1)
t2 START
t2 INSERT INSERT INTO "TX"."T"("ID", "V") VALUES(2, 2)
t1 INSERT INSERT INTO "TX"."T"("ID", "V") VALUES(3, 3)
t2 COMMIT
t1 UPDATE UPDATE "TX"."T" SET "V" = 22 WHERE "ID" = 2 AND "V" = 2
t1 ROLLBACK', 'interleaved');
SELECT kit.check(bool_and(scn > before), 'positions ascend')
FROM (SELECT "SCN" AS scn, lag("SCN", 1, 0::bigint) OVER () AS before FROM kit.mine(:low)) s;

-- A transaction that changed no table: a lone COMMIT or ROLLBACK has its START just before it, at the same scn.
SELECT kit.here() AS low \gset
BEGIN; SELECT pg_current_xact_id() AS c \gset
COMMIT;
BEGIN; SELECT pg_current_xact_id() AS r \gset
ROLLBACK;
SELECT kit.same(kit.story('TX', :low, extra => ARRAY[:c, :r]), E't1 START\nt1 COMMIT\nt2 START\nt2 ROLLBACK', 'lone ends');
SELECT kit.check(count(DISTINCT "SCN") = 1, 'lone START and COMMIT share the scn') FROM kit.mine(:low) WHERE "XID" = int8send(:c);

-- A session that vanishes rolls back.
SELECT kit.here() AS low \gset
SELECT kit.run('a', 'BEGIN'); SELECT kit.run('a', 'INSERT INTO "TX"."T" VALUES (9, 9)');
SELECT kit.ask('a', 'SELECT pg_backend_pid()') AS pid \gset
SELECT pg_terminate_backend(:pid, 10000) \g /dev/null
SELECT kit.same(kit.story('TX', :low), E't1 START\nt1 INSERT INSERT INTO "TX"."T"("ID", "V") VALUES(9, 9)\nt1 ROLLBACK', 'terminated');
SELECT kit.close('a');

-- A change made by another trigger about a row comes after the row's own; so does a cascade.
CREATE TABLE "TX"."PARENT"("ID" int PRIMARY KEY);
CREATE TABLE "TX"."CHILD"("ID" int PRIMARY KEY, "P" int REFERENCES "TX"."PARENT" ON DELETE CASCADE);
CREATE FUNCTION "TX".touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "TX"."CHILD" VALUES (NEW."ID", NEW."ID"); RETURN NULL; END $$;
CREATE TRIGGER "A" AFTER INSERT ON "TX"."PARENT" FOR EACH ROW EXECUTE FUNCTION "TX".touch();
SELECT kit.here() AS low \gset
INSERT INTO "TX"."PARENT" VALUES (1), (2);
DELETE FROM "TX"."PARENT" WHERE "ID" = 1;
SELECT kit.same((SELECT string_agg("OPERATION" || ' ' || "TABLE_NAME", ', ') FROM kit.mine(:low) WHERE "SEG_OWNER" = 'TX'),
  'INSERT PARENT, INSERT CHILD, INSERT PARENT, INSERT CHILD, DELETE PARENT, DELETE CHILD', 'triggers and cascades');
SELECT kit.close('b');
