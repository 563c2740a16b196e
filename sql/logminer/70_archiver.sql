-- DM's archiver flushes by itself; PostgreSQL leaves the last page in memory while nobody commits. This procedure runs in a
-- session of its own until the session ends, and has what was written flushed. It takes no xid, so that it adds
-- no transaction to the log. Setting archiver = hold stops it.
CREATE PROCEDURE logminer.archiver(poll_seconds double precision DEFAULT 0.02)
LANGUAGE plpgsql AS $$
DECLARE
  marked pg_lsn := '0/0';
  written pg_lsn;
  before pg_snapshot;
BEGIN
  LOOP
    IF logminer.setting('archiver') <> 'hold' THEN
      IF NOT (SELECT all_flushed FROM logminer.archived()) THEN
        PERFORM pg_logical_emit_message(false, 'archiver', '');
        COMMIT;      -- has the log writer flush up to here
      END IF;
      -- With no transaction open there is nothing to know of the log before here: mining may begin with that.
      before := pg_current_snapshot();
      written := pg_current_wal_insert_lsn();
      IF written - marked > 262144 AND pg_snapshot_xmin(before) = pg_snapshot_xmax(before) AND pg_current_wal_flush_lsn() >= written
         AND pg_snapshot_xmax(pg_current_snapshot()) = pg_snapshot_xmax(before) THEN
        PERFORM logminer.state_save(written, jsonb_build_object(
          'seen', pg_snapshot_xmax(before)::text::bigint - 1, 'time', now(), 'tops', '[]'::jsonb, 'subs', '[]'::jsonb));
        marked := written;
      END IF;
    END IF;
    COMMIT;
    PERFORM pg_sleep(poll_seconds);
  END LOOP;
END $$;
