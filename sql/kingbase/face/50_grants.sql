-- The connector's user: may use slots and read tables, and that is all.
CREATE ROLE tidemark LOGIN REPLICATION PASSWORD :'tidemark_password';
GRANT pg_read_all_data TO tidemark;
GRANT USAGE ON SCHEMA sys, sys_catalog, kernel TO PUBLIC;
GRANT SELECT ON sys_replication_slots, sys_publication, sys_publication_tables, sys_settings TO PUBLIC;
