-- What postgres-slot-cdc needs of a PostgreSQL server, for a superuser:
--
--   psql -d biz -v schema=shop -v table=orders -v publication=tidemark_orders -v password=… -f sql/setup/postgres.sql
--
-- Run it in the captured database, once for each table; what is there already stays. wal_level counts from the server's next restart on.

ALTER SYSTEM SET wal_level = 'logical';

SELECT 'CREATE ROLE tidemark LOGIN REPLICATION' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tidemark') \gexec
ALTER ROLE tidemark LOGIN REPLICATION PASSWORD :'password';
SELECT format('GRANT CONNECT ON DATABASE %I TO tidemark', current_database()) \gexec
GRANT USAGE ON SCHEMA :"schema" TO tidemark;
GRANT SELECT ON :"schema".:"table" TO tidemark;

-- Whole old rows, for the table and each partition; leave this out for changelog-mode = 'upsert' of a table with a primary key.
SELECT format('ALTER TABLE %s REPLICA IDENTITY FULL', t.relid) FROM (
  SELECT format('%I.%I', :'schema', :'table')::regclass AS relid
  UNION SELECT relid FROM pg_partition_tree(format('%I.%I', :'schema', :'table')::regclass)) t \gexec

-- Before the slot, which the connector makes.
SELECT format('CREATE PUBLICATION %I', :'publication') WHERE NOT EXISTS (SELECT FROM pg_publication WHERE pubname = :'publication') \gexec
SELECT format('ALTER PUBLICATION %I ADD TABLE ONLY %I.%I', :'publication', :'schema', :'table') WHERE NOT EXISTS (
  SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
  WHERE p.pubname = :'publication' AND r.prrelid = format('%I.%I', :'schema', :'table')::regclass) \gexec
