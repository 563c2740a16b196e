-- The face of KingbaseES in the database that this runs in, as its superuser; -v tidemark_password=… for the connector's user.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET allow_system_table_mods = on;
BEGIN;
\ir 10_names.sql
\ir 20_kernel.sql
\ir 30_types.sql
\ir 40_empty_text.sql
\ir 50_grants.sql
COMMIT;
