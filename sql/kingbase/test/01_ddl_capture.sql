-- ddl_capture.sql on PostgreSQL itself: what leaves a row, and what the row says.
\getenv PLAIN PLAIN
\c :PLAIN
CREATE ROLE maker LOGIN PASSWORD 'maker';
GRANT CREATE ON DATABASE plain TO maker;
-- Twice: it may be run again. As one text too, as a driver sends it.
SET client_min_messages = warning;
\ir ../ddl_capture.sql
\set text `cat "$DDL_CAPTURE"`
:text;

-- The rows since the last call, told line by line: tag, then each table as schema.name(columns).
CREATE FUNCTION kit.columns(element jsonb) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(c ->> 1 || ' ' || (c ->> 2) || CASE WHEN (c ->> 3)::boolean THEN '!' ELSE '' END || (c ->> 4), ', ' ORDER BY (c -> 0)::int)
  FROM jsonb_array_elements(element -> 'columns') c
$$;
CREATE FUNCTION kit.told() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  told text;
BEGIN
  WITH gone AS (DELETE FROM tidemark.trep_sync_ddl RETURNING *)
  SELECT string_agg(concat_ws(' ', g.tg_tag, e.what), E'\n' ORDER BY g.exe_time) INTO told
  FROM gone g, LATERAL (
    SELECT string_agg(concat_ws('', CASE WHEN element ->> 'type' = 'schema' THEN 'schema ' END, element ->> 'identity', '(' || kit.columns(element) || ')',
                                CASE WHEN element ? 'columns' OR g.tg_tag = 'ALTER SCHEMA' THEN NULL ELSE ' gone' END), '; ' ORDER BY n) AS what
    FROM jsonb_array_elements(g.obj::jsonb) WITH ORDINALITY AS o(element, n)) e;
  RETURN coalesce(told, '');
END $$;
CREATE FUNCTION kit.tells(expected text, what text) RETURNS void LANGUAGE sql AS $$ SELECT kit.same(kit.told(), expected, what) $$;

-- By one who is no superuser and knows nothing of the capture.
\set owner `echo "$PLAIN" | sed 's|//[^@]*@|//maker:maker@|'`
\c :owner
CREATE SCHEMA shop;
SET search_path = shop, public;
CREATE TABLE a(id serial PRIMARY KEY, name varchar(20) NOT NULL, half int GENERATED ALWAYS AS (length(name) / 2) STORED);
ALTER TABLE a ADD COLUMN price numeric(10,2) DEFAULT 1;
ALTER TABLE a DROP COLUMN half;
ALTER TABLE a RENAME COLUMN name TO "Na me";
ALTER TABLE a RENAME TO "B""ig";
DROP TABLE "B""ig";
\c :PLAIN
SELECT kit.same(string_agg(DISTINCT search_path, ' '), 'shop, public', 'the search_path of who alters'),
  kit.check(bool_and(exe_time BETWEEN now() - interval '5 min' AND clock_timestamp()), 'the time'),
  kit.same(min(command) FILTER (WHERE tg_tag = 'DROP TABLE'), 'DROP TABLE "B""ig";', 'the text') FROM tidemark.trep_sync_ddl;
SELECT kit.check(bool_and(e -> 'key' = '[1]' AND e ->> 'replica_identity' = 'd' AND e ->> 'persistence' = 'p' AND e ->> 'schema' = 'shop'), 'key and identity')
FROM tidemark.trep_sync_ddl, jsonb_array_elements(obj::jsonb) e WHERE e ? 'columns';
SELECT kit.check(count(DISTINCT e ->> 'oid') = 1, 'one table has one oid, whatever its name') FROM tidemark.trep_sync_ddl, jsonb_array_elements(obj::jsonb) e;
SELECT kit.tells($$CREATE TABLE shop.a(id integer!, name character varying(20)!, half integers)
ALTER TABLE shop.a(id integer!, name character varying(20)!, half integers, price numeric(10,2))
ALTER TABLE shop.a(id integer!, name character varying(20)!, price numeric(10,2))
ALTER TABLE shop.a(id integer!, Na me character varying(20)!, price numeric(10,2))
ALTER TABLE shop."B""ig"(id integer!, Na me character varying(20)!, price numeric(10,2))
DROP TABLE shop."B""ig" gone$$, 'the life of a table') \g /dev/null

-- Rolled back to a savepoint, rolled back whole, and under session_replication_role = replica.
BEGIN;
CREATE TABLE shop.a(id int PRIMARY KEY);
SAVEPOINT s;
ALTER TABLE shop.a ADD COLUMN x int;
ROLLBACK TO s;
ALTER TABLE shop.a ADD COLUMN y int;
COMMIT;
BEGIN;
ALTER TABLE shop.a ADD COLUMN z int;
ROLLBACK;
SET session_replication_role = replica;
ALTER TABLE shop.a ADD COLUMN w int;
RESET session_replication_role;
SELECT kit.tells($$CREATE TABLE shop.a(id integer!)
ALTER TABLE shop.a(id integer!, y integer)
ALTER TABLE shop.a(id integer!, y integer, w integer)$$, 'what is rolled back leaves no row, a replica does');

-- Temporary objects leave none; an unlogged table does, since a table may become one, and says so.
CREATE TEMP TABLE t(a int);
ALTER TABLE t ADD COLUMN b int;
CREATE TEMP TABLE u AS SELECT 1 AS a;
CREATE TEMP TABLE likewise(id int) PARTITION BY LIST (id);
DROP TABLE t, u, likewise;
CREATE TEMP VIEW v AS SELECT 1;
DROP VIEW v;
SELECT kit.tells('', 'temporary objects');
ALTER TABLE shop.a SET UNLOGGED;
SELECT kit.same(obj::jsonb #>> '{0,persistence}', 'u', 'unlogged') FROM tidemark.trep_sync_ddl;
ALTER TABLE shop.a SET LOGGED;
DELETE FROM tidemark.trep_sync_ddl;

-- Statements that are no table changes.
CREATE VIEW shop.v AS SELECT * FROM shop.a;
CREATE MATERIALIZED VIEW shop.m AS SELECT * FROM shop.a;
CREATE INDEX ON shop.a(y);
CREATE SEQUENCE shop.s;
CREATE TYPE shop.mood AS ENUM ('glad');
ALTER TYPE shop.mood ADD VALUE 'sad';
COMMENT ON TABLE shop.a IS 'x';
GRANT SELECT ON shop.a TO maker;
CREATE FUNCTION shop.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE PUBLICATION p FOR TABLE shop.a;
DROP PUBLICATION p;
DROP VIEW shop.v;
DROP MATERIALIZED VIEW shop.m;
DROP SEQUENCE shop.s;
DROP FUNCTION shop.f;
TRUNCATE shop.a;
SELECT kit.tells('', 'no table changes');

-- Several statements in one call: a row each, with the whole text; a function and a DO block: what was done, whatever the text.
BEGIN; CREATE TABLE shop.one(a int)\; CREATE TABLE shop.two(b int)\; INSERT INTO shop.one VALUES (1)\; COMMIT;
SELECT kit.check(count(*) = 2 AND bool_and(command LIKE '%shop.one%shop.two%'), 'each with the whole text') FROM tidemark.trep_sync_ddl;
SELECT kit.tells(E'CREATE TABLE shop.one(a integer)\nCREATE TABLE shop.two(b integer)', 'several statements in one call');
CREATE FUNCTION shop.alter_all() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'ALTER TABLE shop.one ADD COLUMN c int';
  EXECUTE 'ALTER TABLE shop.two ADD COLUMN c text';
  BEGIN
    EXECUTE 'ALTER TABLE shop.two ADD COLUMN c text';
  EXCEPTION WHEN duplicate_column THEN NULL;
  END;
END $$;
SELECT shop.alter_all();
DO $$ BEGIN DROP TABLE shop.one; END $$;
SELECT kit.same(string_agg(command, ' | ' ORDER BY exe_time), 'SELECT shop.alter_all(); | SELECT shop.alter_all(); | DO $$ BEGIN DROP TABLE shop.one; END $$;', 'the text is the caller''s')
FROM tidemark.trep_sync_ddl;
SELECT kit.tells($$ALTER TABLE shop.one(a integer, c integer)
ALTER TABLE shop.two(b integer, c text)
DROP TABLE shop.one gone$$, 'statements inside a function');
-- A long script does not stand in full in the row of each of its statements.
SELECT 'CREATE TABLE shop.long(a int) /*' || repeat('x', 200000) || '*/' AS long \gset
:long;
SELECT kit.check(length(command) = 65536, 'a long text is cut') FROM tidemark.trep_sync_ddl;
DROP TABLE shop.long;

-- Made with rows in it, by a schema, by an extension's script; renamed by ALTER INDEX; moved; its schema renamed.
DELETE FROM tidemark.trep_sync_ddl;
CREATE TABLE shop.made AS SELECT 1 AS a;
SELECT 2 AS b INTO shop.into;
CREATE SCHEMA other CREATE TABLE inside(a int);
ALTER INDEX shop.made RENAME TO made_anew;
ALTER TABLE shop.into SET SCHEMA other;
SELECT kit.tells($$CREATE TABLE AS shop.made(a integer)
SELECT INTO shop."into"(b integer)
CREATE SCHEMA other.inside(a integer)
ALTER INDEX shop.made_anew(a integer)
ALTER TABLE other."into"(b integer)$$, 'other ways to make and name a table');
ALTER SCHEMA other RENAME TO "An other";
SELECT kit.tells('ALTER SCHEMA schema "An other"', 'a schema''s name');
-- What is cascaded to is told of too, whatever the tag.
DROP SCHEMA "An other" CASCADE;
SELECT kit.tells('DROP SCHEMA "An other"."into" gone; "An other".inside gone; schema "An other" gone', 'a dropped schema');
CREATE TABLE shop.moody(a int, m shop.mood, b int);
CREATE TABLE shop.owned(a int);
ALTER TABLE shop.owned OWNER TO maker;
ALTER SCHEMA shop OWNER TO CURRENT_USER;
DELETE FROM tidemark.trep_sync_ddl;
DROP TYPE shop.mood CASCADE;
SELECT kit.tells('DROP TYPE shop.moody(a integer, b integer)', 'a column that goes with its type');
DROP OWNED BY maker;
SELECT kit.tells('DROP OWNED shop.owned gone', 'a table that goes with its owner');

-- Tables that inherit, and tables of a composite type.
CREATE TABLE shop.parent(a int);
CREATE TABLE shop.child(b int) INHERITS (shop.parent);
CREATE TYPE shop.pair AS (a int, b int);
CREATE TABLE shop.pairs OF shop.pair;
DELETE FROM tidemark.trep_sync_ddl;
ALTER TABLE shop.parent ADD COLUMN c int;
ALTER TYPE shop.pair ADD ATTRIBUTE c int CASCADE;
SELECT kit.tells($$ALTER TABLE shop.parent(a integer, c integer); shop.child(a integer, b integer, c integer)
ALTER TYPE shop.pairs(a integer, b integer, c integer)$$, 'what is altered with another');

-- Partitions, two levels deep: made, attached, detached, dropped; the root tells all that are below it.
CREATE FUNCTION kit.partitions() RETURNS text LANGUAGE sql AS $$
  WITH gone AS (DELETE FROM tidemark.trep_sync_ddl RETURNING *)
  SELECT string_agg(concat_ws(' ', tg_tag, e ->> 'identity', 'of ' || (SELECT min(r ->> 'identity') FROM gone h, jsonb_array_elements(h.obj::jsonb) r WHERE r -> 'oid' = e -> 'root'),
                              CASE WHEN e ? 'partitions' THEN '[' || (SELECT coalesce(string_agg(p ->> 2, ' ' ORDER BY p ->> 2), '') FROM jsonb_array_elements(e -> 'partitions') p) || ']' END), E'\n' ORDER BY exe_time)
  FROM gone, jsonb_array_elements(obj::jsonb) e
$$;
CREATE TABLE shop.p(id int, d int, PRIMARY KEY (id, d)) PARTITION BY RANGE (d);
CREATE TABLE shop.p1 PARTITION OF shop.p FOR VALUES FROM (0) TO (10) PARTITION BY LIST (id);
CREATE TABLE shop.p1a PARTITION OF shop.p1 FOR VALUES IN (1);
CREATE TABLE shop.p2(d int NOT NULL, gone int, id int NOT NULL);
ALTER TABLE shop.p2 DROP COLUMN gone;
ALTER TABLE shop.p ATTACH PARTITION shop.p2 FOR VALUES FROM (10) TO (20);
ALTER TABLE shop.p DETACH PARTITION shop.p2;
ALTER TABLE shop.p ADD COLUMN x int;
DROP TABLE shop.p1a;
DROP TABLE shop.p;
SELECT kit.same(kit.partitions(), $$CREATE TABLE shop.p []
CREATE TABLE shop.p1 of shop.p []
CREATE TABLE shop.p1a of shop.p
CREATE TABLE shop.p2
ALTER TABLE shop.p2
ALTER TABLE shop.p [p1 p1a p2]
ALTER TABLE shop.p [p1 p1a]
ALTER TABLE shop.p [p1 p1a]
DROP TABLE shop.p1a
DROP TABLE shop.p
DROP TABLE shop.p1$$, 'partitions');

-- Nobody writes into the table but the triggers: not by a call, not by a call inside a statement.
GRANT USAGE ON SCHEMA kit TO maker;
SET ROLE maker;
SELECT kit.same(kit.outcome($$SELECT tidemark.log_ddl('ddl_command_end', 'DROP TABLE', '', '')$$), 'pg_event_trigger_ddl_commands() can only be called in an event trigger function', 'a call by hand');
RESET ROLE;
GRANT ALL ON SCHEMA shop TO maker;
SET ROLE maker;
CREATE TABLE shop.forged AS SELECT tidemark.log_ddl('ddl_command_end', 'DROP TABLE', '', 'forged')::text AS a;
SELECT kit.check(kit.outcome('INSERT INTO tidemark.trep_sync_ddl(exe_time, tg_tag) VALUES (now(), ''x'')') LIKE 'permission denied%', 'an insert by hand');
SELECT kit.check(kit.outcome('CREATE TABLE tidemark.x(a int)') LIKE 'permission denied%', 'a table in the schema');
RESET ROLE;
SELECT kit.check(count(*) = 0, 'a forged row') FROM tidemark.trep_sync_ddl WHERE command = 'forged';

-- In the log: between the rows before and behind it, in its transaction; its own purge is there as deletes.
SELECT 1 FROM pg_create_logical_replication_slot('ddl', 'test_decoding');
CREATE TABLE shop.ordered(id int PRIMARY KEY);
BEGIN;
INSERT INTO shop.ordered VALUES (1);
ALTER TABLE shop.ordered ADD COLUMN v int;
INSERT INTO shop.ordered VALUES (2, 2);
COMMIT;
DELETE FROM tidemark.trep_sync_ddl;
SELECT kit.same(string_agg(regexp_replace(data, '^table (\S+: \w+).*?(tg_tag\S+:''[A-Z ]*'')?( search.*)?$', '\1 \2'), E'\n' ORDER BY n), $$BEGIN
tidemark.trep_sync_ddl: INSERT tg_tag[text]:'CREATE TABLE'
COMMIT
BEGIN
shop.ordered: INSERT 
tidemark.trep_sync_ddl: INSERT tg_tag[text]:'ALTER TABLE'
shop.ordered: INSERT 
COMMIT$$, 'in order, in the log')
FROM (SELECT row_number() OVER () AS n, regexp_replace(data, '^(BEGIN|COMMIT) .*', '\1') AS data FROM pg_logical_slot_get_changes('ddl', NULL, 8)) c;
SELECT pg_drop_replication_slot('ddl');

-- A publication of all tables does not make the purge fail.
CREATE PUBLICATION everything FOR ALL TABLES;
DELETE FROM tidemark.trep_sync_ddl;
DROP PUBLICATION everything;

-- Taken away, nothing is left and nothing fails; twice, and with something else in the schema.
CREATE TABLE tidemark.stranger(a int);
\ir ../ddl_capture_remove.sql
SELECT kit.same(string_agg(c.relname, ' '), 'stranger', 'what is not its own stays') FROM pg_class c WHERE relnamespace = 'tidemark'::regnamespace;
DROP TABLE tidemark.stranger;
\ir ../ddl_capture_remove.sql
CREATE TABLE shop.unseen(a int);
SELECT kit.check(NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'tidemark') AND NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtname LIKE 'tidemark%'), 'nothing is left');
DROP SCHEMA shop CASCADE;
DROP OWNED BY maker; DROP ROLE maker;
