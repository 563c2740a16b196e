-- Takes away what ddl_capture.sql made, with the rows; run by a superuser. Stop the jobs that read them first: a publication
-- loses the table, and what is altered from now on is told by nobody. A schema that holds anything else stays.
BEGIN;
DROP EVENT TRIGGER IF EXISTS tidemark_ddl;
DROP EVENT TRIGGER IF EXISTS tidemark_drop;
DROP FUNCTION IF EXISTS tidemark.on_ddl();
DROP FUNCTION IF EXISTS tidemark.log_ddl(text, text, text, text);
DROP FUNCTION IF EXISTS tidemark.table_shape(oid);
DROP TABLE IF EXISTS tidemark.trep_sync_ddl;
DO $block$
BEGIN
  DROP SCHEMA IF EXISTS tidemark;
EXCEPTION WHEN dependent_objects_still_exist THEN
  NULL;
END $block$;
COMMIT;
