-- What becomes of tables, as rows in the log: each DDL statement that makes, alters or drops tables leaves one row in
-- tidemark.trep_sync_ddl, in its own transaction and at its own place there. PostgreSQL 12 and later, KingbaseES.
--
-- Run once in the captured database by a superuser, who alone may make event triggers; again to bring it up to date;
-- ddl_capture_remove.sql takes it away. Plain SQL in one transaction, so that any client can send it.
-- Where a server has its system objects under sys_ names only, so has this script:
--   sed -E 's/\bpg_/sys_/g' ddl_capture.sql
-- Old rows may be deleted at any time; a reader passes deletes and updates of the table over.
BEGIN;
CREATE SCHEMA IF NOT EXISTS tidemark;
-- The trigger function runs with the rights of whoever alters a table, and calls the other one.
GRANT USAGE ON SCHEMA tidemark TO PUBLIC;

-- The first four columns are those of Kingbase FlySync's table. obj says what cannot be read from a text (a function, a DO
-- block, several statements in one call): a JSON array, an element for each table that is made, altered or gone.
--   {"oid", "type": "table", "schema", "name", "identity", "persistence", "replica_identity", "key": [attnum, …],
--    "columns": [[attnum, name, type, not null, generated], …], "root": oid of a partition's topmost table,
--    "partitions": [[oid, schema, name], …], all of a partitioned table, whatever the level}: it is so from here on
--   {"oid", "type": "table" | "schema", "schema", "name", "identity"}, without columns: it is gone
--   {"oid", "type": "schema", "name"} under the tag ALTER SCHEMA: it has this name from here on, and so its tables
CREATE TABLE IF NOT EXISTS tidemark.trep_sync_ddl (
  exe_time timestamptz NOT NULL,
  tg_tag text NOT NULL,
  search_path text,
  command text,
  obj text
);
-- So that deleting old rows never fails under somebody's publication.
ALTER TABLE tidemark.trep_sync_ddl REPLICA IDENTITY FULL;

-- A table as it is now, as an element of obj.
CREATE OR REPLACE FUNCTION tidemark.table_shape(relation oid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'oid', c.oid::bigint, 'type', 'table', 'schema', n.nspname, 'name', c.relname, 'identity', format('%I.%I', n.nspname, c.relname),
    'persistence', c.relpersistence, 'replica_identity', c.relreplident,
    'key', (SELECT to_jsonb(k.conkey) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p'),
    'columns', (SELECT coalesce(jsonb_agg(jsonb_build_array(a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated)
                                          ORDER BY a.attnum), '[]')
                FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    'root', CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid::bigint END,
    -- Not pg_partition_tree, which locks them all.
    'partitions', CASE WHEN c.relkind = 'p' THEN
      (WITH RECURSIVE below AS (
         SELECT i.inhrelid AS oid FROM pg_inherits i WHERE i.inhparent = c.oid
         UNION ALL
         SELECT i.inhrelid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid)
       SELECT coalesce(jsonb_agg(jsonb_build_array(p.oid::bigint, s.nspname, p.relname) ORDER BY p.oid), '[]')
       FROM below b JOIN pg_class p ON p.oid = b.oid JOIN pg_namespace s ON s.oid = p.relnamespace) END))
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = relation
$function$;

-- What the statement did, with its owner's rights and a search_path that nobody else chooses. Whoever calls it outside an event trigger
-- gets an error, or while a statement is under way, nothing: the server's functions have nothing to tell then.
CREATE OR REPLACE FUNCTION tidemark.log_ddl(event text, tag text, path text, query text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  objects jsonb;
BEGIN
  IF event = 'sql_drop' THEN
    WITH gone AS (
      SELECT objid, object_type, schema_name, object_name, object_identity FROM pg_event_trigger_dropped_objects()
      WHERE NOT is_temporary AND classid IN ('pg_class'::regclass, 'pg_namespace'::regclass)
        AND object_type IN ('table', 'schema', 'table column') AND schema_name IS DISTINCT FROM 'tidemark' AND object_identity <> 'tidemark')
    SELECT jsonb_agg(element ORDER BY place, oid) INTO objects
    FROM (
      SELECT CASE object_type WHEN 'table' THEN 1 ELSE 3 END AS place, objid AS oid, jsonb_build_object('oid', objid::bigint, 'type', object_type, 'schema', schema_name, 'name', object_name,
                                                          'identity', object_identity) AS element
      FROM gone WHERE object_type <> 'table column'
      UNION ALL
      -- A column that goes with its type or its function; of ALTER TABLE ddl_command_end tells.
      SELECT 2, c.oid, tidemark.table_shape(c.oid)
      FROM pg_class c
      WHERE tag <> 'ALTER TABLE' AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
        AND c.oid IN (SELECT objid FROM gone WHERE object_type = 'table column')
        AND c.oid NOT IN (SELECT objid FROM gone WHERE object_type = 'table')) elements;
  ELSE
    WITH RECURSIVE done AS (
      SELECT DISTINCT classid, objid, object_type FROM pg_event_trigger_ddl_commands()),
    altered AS (
      SELECT objid AS oid FROM done WHERE classid = 'pg_class'::regclass
      UNION
      -- Tables of a composite type that was altered with CASCADE.
      SELECT t.oid FROM done d JOIN pg_class y ON y.oid = d.objid JOIN pg_class t ON t.reloftype = y.reltype
      WHERE d.classid = 'pg_class'::regclass AND y.relkind = 'c'
      UNION
      -- Tables that inherit are altered with their parent and not told of; a partition is told of under its root.
      SELECT i.inhrelid FROM altered a JOIN pg_inherits i ON i.inhparent = a.oid JOIN pg_class c ON c.oid = i.inhrelid
      WHERE NOT c.relispartition)
    SELECT jsonb_agg(element ORDER BY place, oid) INTO objects
    FROM (
      SELECT 1 AS place, d.objid AS oid, jsonb_build_object('oid', d.objid::bigint, 'type', 'schema', 'name', n.nspname, 'identity', quote_ident(n.nspname)) AS element
      FROM done d JOIN pg_namespace n ON n.oid = d.objid
      WHERE tag = 'ALTER SCHEMA' AND d.classid = 'pg_namespace'::regclass
      UNION ALL
      SELECT 2, c.oid, tidemark.table_shape(c.oid)
      FROM altered a JOIN pg_class c ON c.oid = a.oid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname <> 'tidemark') elements;
  END IF;
  IF objects IS NOT NULL THEN
    -- A script sent as one text stands in the row of each of its statements: its head is enough, obj tells what was done.
    INSERT INTO tidemark.trep_sync_ddl VALUES (clock_timestamp(), tag, path, left(query, 65536), objects::text);
  END IF;
END $function$;

-- Without a search_path of its own: the caller's is what goes into the row.
CREATE OR REPLACE FUNCTION tidemark.on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM tidemark.log_ddl(TG_EVENT, TG_TAG, pg_catalog.current_setting('search_path'), pg_catalog.current_query());
END $function$;

DROP EVENT TRIGGER IF EXISTS tidemark_ddl;
DROP EVENT TRIGGER IF EXISTS tidemark_drop;
-- ALTER INDEX may rename a table, CREATE SCHEMA may make tables.
CREATE EVENT TRIGGER tidemark_ddl ON ddl_command_end
  WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE', 'ALTER INDEX', 'CREATE SCHEMA', 'ALTER SCHEMA', 'ALTER TYPE')
  EXECUTE FUNCTION tidemark.on_ddl();
-- Whatever the tag: tables go with DROP OWNED and DROP EXTENSION too, columns with DROP TYPE.
CREATE EVENT TRIGGER tidemark_drop ON sql_drop EXECUTE FUNCTION tidemark.on_ddl();
-- Also where session_replication_role is replica.
ALTER EVENT TRIGGER tidemark_ddl ENABLE ALWAYS;
ALTER EVENT TRIGGER tidemark_drop ENABLE ALWAYS;
COMMIT;
