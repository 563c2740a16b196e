-- Installs DBMS_LOGMNR in DM8's form over PostgreSQL 15's own write-ahead log.
-- Run once, as a superuser, in the database that plays DM8:
--   psql -v ON_ERROR_STOP=1 -v tidemark_password=… -f install.sql DATABASE
-- tidemark_password: password of the login role "TIDEMARK" (left without one if not given).
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
\if :{?tidemark_password}
\else
  \set tidemark_password ''
\endif
-- case_sensitive: dminit's CASE_SENSITIVE, 1 or 0.
\if :{?case_sensitive}
\else
  \set case_sensitive 1
\endif
-- blank_pad_mode: dminit's BLANK_PAD_MODE, 1 or 0.
\if :{?blank_pad_mode}
\else
  \set blank_pad_mode 1
\endif
CREATE EXTENSION IF NOT EXISTS citext;
SELECT CASE WHEN :'case_sensitive' = '0' THEN 'citext' WHEN :'blank_pad_mode' = '0' THEN 'bpchar' ELSE 'varchar' END AS text_base \gset
SELECT CASE :'case_sensitive' WHEN '0' THEN 'COLLATE logminer.ignore_case' ELSE '' END AS name_collation \gset
\ir 00_schemas.sql
\ir 01_types.sql
\ir 10_position.sql
\ir 11_archives.sql
\ir 20_literals.sql
\ir 21_capture.sql
\ir 22_attach.sql
\ir 23_ddl.sql
\ir 30_session.sql
\ir 40_wal.sql
\ir 41_state.sql
\ir 42_undo.sql
\ir 43_contents.sql
\ir 44_present.sql
\ir 50_views.sql
\ir 51_contents_view.sql
\ir 52_log_views.sql
\ir 60_dictionary.sql
\ir 61_columns.sql
\ir 70_archiver.sql
\ir 80_levers.sql
\ir 90_grants.sql
