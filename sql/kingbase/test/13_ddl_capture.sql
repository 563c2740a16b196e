-- ddl_capture.sql where there are sys_ names only, as its head says to make it.
SET client_min_messages = warning;
\set script `sed -E 's/\bpg_/sys_/g' "$DDL_CAPTURE"`
:script
SELECT 1 FROM sys_create_logical_replication_slot('ddl', 'test_decoding');
CREATE TABLE altered(id number(10) PRIMARY KEY, d date);
BEGIN;
INSERT INTO altered VALUES (1, NULL);
ALTER TABLE altered ADD COLUMN v varchar2(10);
INSERT INTO altered VALUES (2, NULL, 'x');
COMMIT;
DROP TABLE altered;
SELECT kit.same(string_agg(substring(data FROM '(INSERT|BEGIN|COMMIT)') || coalesce(substring(data FROM ' tg_tag\S+:''[A-Z ]*'''), ''), E'\n' ORDER BY n), $$BEGIN
INSERT tg_tag[text]:'CREATE TABLE'
COMMIT
BEGIN
INSERT
INSERT tg_tag[text]:'ALTER TABLE'
INSERT
COMMIT
BEGIN
INSERT tg_tag[text]:'DROP TABLE'
COMMIT$$, 'in the log') FROM (SELECT row_number() OVER () AS n, data FROM sys_logical_slot_get_changes('ddl', NULL, NULL)) c;
SELECT kit.same(obj::jsonb #>> '{0,columns}', '[[1, "id", "sys.number(10,0)", true, ""], [2, "d", "sys.date", false, ""], [3, "v", "sys.varchar2(10)", false, ""]]', 'types by name')
FROM tidemark.trep_sync_ddl WHERE tg_tag = 'ALTER TABLE';
SELECT sys_drop_replication_slot('ddl');
\set script `sed -E 's/\bpg_/sys_/g' "$(dirname "$DDL_CAPTURE")/ddl_capture_remove.sql"`
:script
SELECT kit.same(count(*), 0::bigint, 'taken away') FROM sys_namespace WHERE nspname = 'tidemark';
