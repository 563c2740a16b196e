-- Positions: an scn is a log position in bytes, divided by the granularity.

CREATE FUNCTION logminer.granularity() RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT logminer.setting('granularity')::bigint $$;

CREATE FUNCTION logminer.bytes(lsn pg_lsn) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (lsn - '0/0'::pg_lsn)::bigint $$;

CREATE FUNCTION logminer.scn(lsn pg_lsn, granularity bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (lsn - '0/0'::pg_lsn)::bigint / granularity $$;

-- The first byte that an scn covers.
CREATE FUNCTION logminer.lsn(scn bigint, granularity bigint) RETURNS pg_lsn
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '0/0'::pg_lsn + scn::numeric * granularity $$;

CREATE FUNCTION logminer.segment_size() RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT pg_size_bytes(current_setting('wal_segment_size')) $$;

-- Where records can be read from: what a switch leaves of a segment has no record, and pg_walinspect does not look behind it.
CREATE FUNCTION logminer.behind_switch(from_lsn pg_lsn, to_lsn pg_lsn) RETURNS pg_lsn
LANGUAGE plpgsql AS $$
DECLARE
  segment bigint := logminer.segment_size();
BEGIN
  WHILE from_lsn < to_lsn LOOP
    BEGIN
      PERFORM pg_get_wal_record_info(from_lsn);
      RETURN from_lsn;
    EXCEPTION WHEN OTHERS THEN
      IF SQLERRM NOT LIKE 'could not find a valid record after%' THEN
        RAISE;
      END IF;
      from_lsn := '0/0'::pg_lsn + ((logminer.bytes(from_lsn) / segment + 1) * segment)::numeric;
    END;
  END LOOP;
  RETURN to_lsn;
END $$;

-- End of the last record in the log that ends at or before `limit_lsn`; the records' ends are found by reading back
-- in growing steps, since a flush may stop at a page boundary in the middle of a record.
CREATE FUNCTION logminer.whole_records(limit_lsn pg_lsn, oldest pg_lsn) RETURNS pg_lsn
LANGUAGE plpgsql AS $$
DECLARE
  step bigint := 16384;
  from_lsn pg_lsn;
  found_end pg_lsn;
BEGIN
  LOOP
    from_lsn := CASE WHEN limit_lsn - oldest > step THEN limit_lsn - step::numeric ELSE oldest END;
    EXIT WHEN from_lsn >= limit_lsn;
    BEGIN
      SELECT max(end_lsn) INTO found_end FROM pg_get_wal_records_info(from_lsn, limit_lsn);
    EXCEPTION WHEN OTHERS THEN
      found_end := NULL;
    END;
    EXIT WHEN found_end IS NOT NULL OR from_lsn = oldest;
    step := step * 8;
  END LOOP;
  RETURN coalesce(found_end, oldest);
END $$;

-- Where reading must stop so that every complete record that starts before `limit_lsn` is read.
CREATE FUNCTION logminer.reading_end(limit_lsn pg_lsn, flushed pg_lsn, oldest pg_lsn) RETURNS pg_lsn
LANGUAGE plpgsql AS $$
DECLARE
  whole pg_lsn;
  straddling record;
BEGIN
  IF limit_lsn >= flushed THEN
    RETURN flushed;
  END IF;
  whole := logminer.whole_records(limit_lsn, oldest);
  IF whole < limit_lsn THEN
    BEGIN
      SELECT start_lsn, end_lsn INTO straddling FROM pg_get_wal_record_info(whole);
      IF straddling.start_lsn < limit_lsn AND straddling.end_lsn <= flushed THEN
        RETURN straddling.end_lsn;
      END IF;
    EXCEPTION WHEN OTHERS THEN
      RETURN limit_lsn;
    END;
  END IF;
  RETURN limit_lsn;
END $$;

-- The end of what can be mined. `whole` is the end of the last record that is on disk whole; `all_flushed` says
-- that nothing had been written beyond it. `scn` is the archive's CLSN: every record at or below it written so far
-- can be read. Later records may still join the scn that everything-is-flushed names.
CREATE FUNCTION logminer.archived(OUT whole pg_lsn, OUT all_flushed boolean, OUT scn bigint, OUT written pg_lsn)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  flushed pg_lsn;
  position_in_page bigint;
  page_start pg_lsn;
BEGIN
  written := pg_current_wal_insert_lsn();
  flushed := pg_current_wal_flush_lsn();
  -- At the start of a page the insert position already stands behind the page header that nobody has written.
  position_in_page := logminer.bytes(written) % 8192;
  page_start := written - position_in_page::numeric;
  all_flushed := flushed >= written
    OR (flushed >= page_start AND position_in_page <= 40
        AND position_in_page = CASE WHEN logminer.bytes(page_start) % logminer.segment_size() = 0 THEN 40 ELSE 24 END);
  IF all_flushed THEN
    whole := written;
    scn := logminer.scn(written, logminer.granularity());
  ELSE
    whole := logminer.whole_records(flushed, logminer.oldest_lsn());
    scn := logminer.scn(whole, logminer.granularity()) - 1;
  END IF;
END $$;
