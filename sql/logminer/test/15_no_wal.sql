-- Mining writes no log: on an idle database the position stays.
CREATE SCHEMA "IDLE";
CREATE TABLE "IDLE"."T"("ID" int PRIMARY KEY, "V" varchar(1000));
SELECT kit.here() AS low \gset
INSERT INTO "IDLE"."T" SELECT g, repeat('z', 900) FROM generate_series(1, 3000) g;
BEGIN; INSERT INTO "IDLE"."T" VALUES (-1, 'open');
SAVEPOINT a; DELETE FROM "IDLE"."T" WHERE "ID" < 2000; ROLLBACK TO a;
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f logminer/state-*';
-- what else writes now and then: let it be done before (pruning of catalogue pages, standby snapshot, checkpoint)
SELECT count(*) FROM kit.mine(:low) \g /dev/null
ROLLBACK;
VACUUM;
CHECKPOINT;
SELECT kit.here() AS v \gset
SELECT count(*) FROM kit.mine(:low) \g /dev/null
SELECT count(*) FROM kit.mine(:low, :v, 0) \g /dev/null
SELECT count(*) FROM "V$ARCH_FILE", "V$RLOG", "V$DATABASE", "V$INSTANCE", "V$DM_INI", "ALL_TAB_COLUMNS" \g /dev/null
SELECT count(*) FROM "V$TRX" \g /dev/null
SELECT kit.outcome('CALL DBMS_LOGMNR.END_LOGMNR()') \g /dev/null
SELECT kit.check(count(*) > 0, 'states were written') FROM logminer.state_files();
-- The server's own clockwork may have struck meanwhile: standby snapshots, checkpoints, and the archiver that has them flushed; and
-- dead rows that another snapshot kept from VACUUM go when their page is read. Whoever makes dead rows writes more than that.
SELECT kit.here() > :v AS struck \gset
\if :struck
SELECT kit.same(string_agg(concat_ws(' ', resource_manager, record_type, left(description, 60)), E'\n'), NULL, 'what mining wrote')
FROM logminer.pg_get_wal_records_info('0/0'::pg_lsn + :v, '0/0'::pg_lsn + kit.here())
WHERE NOT (resource_manager = 'Standby' AND record_type = 'RUNNING_XACTS'
           OR resource_manager = 'Heap2' AND record_type = 'PRUNE'
           OR resource_manager = 'XLOG' AND record_type LIKE 'CHECKPOINT%'
           OR resource_manager = 'LogicalMessage' AND description LIKE 'non-transactional, prefix "archiver"%');
\endif
SELECT kit.same(pg_current_xact_id_if_assigned(), NULL, 'no xid');
