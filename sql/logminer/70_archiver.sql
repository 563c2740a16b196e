-- DM's archiver flushes by itself; PostgreSQL leaves the last page in memory while nobody commits. This procedure runs in a
-- session of its own until the session ends, and has what was written flushed. It takes no xid, so that it adds
-- no transaction to the log. Setting archiver = hold stops it.
CREATE PROCEDURE logminer.archiver(poll_seconds double precision DEFAULT 0.02)
LANGUAGE plpgsql AS $$
DECLARE
  noted timestamptz := 'epoch';
BEGIN
  LOOP
    IF logminer.setting('archiver') <> 'hold' THEN
      IF NOT (SELECT all_flushed FROM logminer.archived()) THEN
        PERFORM pg_logical_emit_message(false, 'archiver', '');
        COMMIT;      -- has the log writer flush up to here
      END IF;
      PERFORM logminer.mark_idle();
    END IF;
    IF clock_timestamp() - noted >= interval '3 s' THEN
      noted := clock_timestamp();
      PERFORM pg_file_write('logminer/lsn_time', format(E'%s %s\n', extract(epoch FROM noted),
        logminer.bytes(pg_current_wal_insert_lsn())), true);
    END IF;
    COMMIT;
    PERFORM pg_sleep(poll_seconds);
  END LOOP;
END $$;

-- Where no transaction is open there is nothing to know of the log before: mining may begin with that. A snapshot does not
-- say whether one is open (its xmax is the newest ended xid plus one), the lock that each holds on its xid does, from before
-- its first record to after its end; and one that came and went between the two looks has moved xmax.
CREATE FUNCTION logminer.mark_idle() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  written pg_lsn;
  ended xid8;
BEGIN
  IF pg_current_wal_insert_lsn() - coalesce((SELECT max(lsn) FROM logminer.state_files()), '0/0') < 262144 OR logminer.any_open() THEN
    RETURN;
  END IF;
  ended := pg_snapshot_xmax(pg_current_snapshot());
  written := pg_current_wal_insert_lsn();
  IF pg_current_wal_flush_lsn() >= written AND NOT logminer.any_open() AND pg_snapshot_xmax(pg_current_snapshot()) = ended THEN
    PERFORM logminer.state_save(written, jsonb_build_object(
      'seen', ended::text::bigint - 1, 'time', clock_timestamp(), 'tops', '[]'::jsonb, 'subs', '[]'::jsonb));
  END IF;
END $$;

CREATE FUNCTION logminer.any_open() RETURNS boolean
LANGUAGE sql AS $$ SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted) $$;
