-- System objects under sys_ names in sys_catalog, and under those alone: a pg_ name is unknown, as it would be to a server that never
-- had it. (Names as in a dump of a KingbaseES database and in DBeaver's dialect for it.) PostgreSQL finds its own objects by number, so
-- that only the names in this database's catalogue need be others.
CREATE SCHEMA sys_catalog;
-- What a kernel of PostgreSQL 12 does not have, and what wrappers stand before.
CREATE SCHEMA kernel;

UPDATE pg_proc SET
  pronamespace = CASE WHEN proname IN (
      -- 13
      'pg_current_xact_id', 'pg_current_xact_id_if_assigned', 'pg_current_snapshot', 'pg_snapshot_xmin', 'pg_snapshot_xmax', 'pg_snapshot_xip',
      'pg_visible_in_snapshot', 'pg_xact_status', 'pg_stat_get_slru', 'pg_stat_reset_slru', 'pg_get_shmem_allocations',
      -- 14
      'pg_stat_get_replication_slot', 'pg_stat_reset_replication_slot', 'pg_xact_commit_timestamp_origin', 'pg_get_backend_memory_contexts',
      'pg_log_backend_memory_contexts', 'pg_get_wal_replay_pause_state', 'pg_column_compression', 'pg_get_catalog_foreign_keys',
      -- 15
      'pg_settings_get_flags', 'pg_ls_logicalsnapdir', 'pg_ls_logicalmapdir', 'pg_ls_replslotdir', 'pg_get_wal_resource_managers')
    THEN 'kernel'::regnamespace ELSE 'sys_catalog'::regnamespace END,
  proname = 'sys_' || substr(proname, 4)
WHERE pronamespace = 'pg_catalog'::regnamespace AND proname LIKE 'pg\_%';
UPDATE pg_class SET
  relnamespace = CASE WHEN relname IN ('pg_stat_replication_slots', 'pg_stat_slru', 'pg_shmem_allocations', 'pg_backend_memory_contexts', 'pg_stat_progress_copy',
      'pg_stat_subscription_stats', 'pg_parameter_acl', 'pg_publication_namespace', 'pg_ident_file_mappings', 'pg_stat_wal', 'pg_stat_recovery_prefetch')
    THEN 'kernel'::regnamespace ELSE 'sys_catalog'::regnamespace END,
  relname = 'sys_' || substr(relname, 4)
WHERE relnamespace = 'pg_catalog'::regnamespace AND relname LIKE 'pg\_%' AND relkind IN ('r', 'v');

UPDATE sys_catalog.sys_type t SET typname = c.relname, typnamespace = c.relnamespace FROM sys_catalog.sys_class c
  WHERE c.reltype = t.oid AND c.relnamespace IN ('sys_catalog'::regnamespace, 'kernel'::regnamespace);
SELECT format('ALTER DATABASE %I SET search_path = "$user", public, sys, pg_catalog, sys_catalog', current_database()) \gexec
SET search_path = public, sys, pg_catalog, sys_catalog;

-- Functions without the prefix are in sys_catalog too. They stay in pg_catalog, which PostgreSQL's grammar names itself.
INSERT INTO sys_proc
  SELECT (f).* FROM (
    SELECT jsonb_populate_record(p, jsonb_build_object('oid', sys_catalog.sys_nextoid('sys_proc', 'oid', '2690'), 'pronamespace', 'sys_catalog'::regnamespace::oid::bigint)) AS f
    FROM sys_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f') copies;
