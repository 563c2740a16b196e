-- Reading the log: the records that mining needs, and what pg_walinspect does not tell.

-- kind: M change or START message; C commit, A abort (of a transaction or a subtransaction), P prepare, c commit prepared,
-- a abort prepared; T subtransactions assigned to their top; S shutdown or end of recovery: whatever was open is dead.
CREATE FUNCTION logminer.records(from_lsn pg_lsn, to_lsn pg_lsn)
RETURNS TABLE (lsn pg_lsn, xid bigint, kind text, description text)
LANGUAGE plpgsql AS $$
BEGIN
  from_lsn := logminer.behind_switch(from_lsn, to_lsn);
  IF from_lsn >= to_lsn THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT w.start_lsn, w.xid::text::bigint,
           CASE w.resource_manager
             WHEN 'LogicalMessage' THEN 'M'
             WHEN 'XLOG' THEN 'S'
             ELSE CASE w.record_type WHEN 'COMMIT' THEN 'C' WHEN 'ABORT' THEN 'A' WHEN 'PREPARE' THEN 'P'
                  WHEN 'COMMIT_PREPARED' THEN 'c' WHEN 'ABORT_PREPARED' THEN 'a' WHEN 'ASSIGNMENT' THEN 'T' END
           END,
           w.description
    FROM pg_get_wal_records_info(from_lsn, to_lsn) w
    WHERE w.resource_manager = 'LogicalMessage' AND starts_with(w.description, E'non-transactional, prefix "LM\x01')
       OR w.resource_manager = 'Transaction' AND w.record_type <> 'INVALIDATION'
       OR w.resource_manager = 'XLOG' AND w.record_type IN ('CHECKPOINT_SHUTDOWN', 'END_OF_RECOVERY');
END $$;

-- `length` bytes of the record that starts at `lsn`, page headers left out.
CREATE FUNCTION logminer.record_bytes(lsn pg_lsn, length int) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  segment bigint := logminer.segment_size();
  place bigint := logminer.bytes(lsn);
  piece bigint;
  result bytea := '';
BEGIN
  WHILE octet_length(result) < length LOOP
    IF place % 8192 = 0 THEN
      place := place + CASE WHEN place % segment = 0 THEN 40 ELSE 24 END;
    END IF;
    piece := least(8192 - place % 8192, length - octet_length(result));
    result := result || pg_read_binary_file('pg_wal/' || pg_walfile_name('0/0'::pg_lsn + (place + 1)::numeric),
                                            place % segment, piece);
    place := place + piece;
  END LOOP;
  RETURN result;
END $$;

CREATE FUNCTION logminer.unsigned(data bytea, place int, width int) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT sum(get_byte(data, place + i)::bigint << (8 * i))::bigint FROM generate_series(0, width - 1) i
$$;

-- The first record of a subtransaction carries its top's xid in its header (wal_level = logical); pg_walinspect keeps that
-- to itself. NULL: none there.
CREATE FUNCTION logminer.record_top(lsn pg_lsn) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  total int := logminer.unsigned(logminer.record_bytes(lsn, 24), 0, 4)::int;
  data bytea := logminer.record_bytes(lsn, least(total, 2048));
  place int := 24;
  id int;
  flags int;
  image int;
BEGIN
  WHILE place < octet_length(data) LOOP
    id := get_byte(data, place);
    IF id = 252 THEN                                   -- XLR_BLOCK_ID_TOPLEVEL_XID
      RETURN logminer.unsigned(data, place + 1, 4);
    ELSIF id = 253 THEN                                -- XLR_BLOCK_ID_ORIGIN
      place := place + 3;
    ELSIF id <= 32 THEN                                -- a block reference
      flags := get_byte(data, place + 1);
      place := place + 4;
      IF flags & 16 > 0 THEN                           -- BKPBLOCK_HAS_IMAGE
        image := get_byte(data, place + 4);
        place := place + 5;
        IF image & 1 > 0 AND image & 28 > 0 THEN       -- a hole, and compressed
          place := place + 2;
        END IF;
      END IF;
      IF flags & 128 = 0 THEN                          -- not BKPBLOCK_SAME_REL
        place := place + 12;
      END IF;
      place := place + 4;
    ELSE
      RETURN NULL;                                     -- the main data: no more headers
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- The tops of aborted xids that wrote no message (themselves, where they are tops). Only an xid's very first record tells,
-- so the log is read back from `from_lsn` in growing steps to where the xid cannot have been given out yet: a record of running
-- transactions names the next xid. `seen`, where known, says that every xid up to it had ended at `from_lsn`.
CREATE FUNCTION logminer.tops_of_silent(wanted bigint[], from_lsn pg_lsn, seen bigint, to_lsn pg_lsn)
RETURNS TABLE (x bigint, t bigint)
LANGUAGE plpgsql AS $$
DECLARE
  smallest bigint := (SELECT min(w) FROM unnest(wanted) w);
  oldest pg_lsn := logminer.oldest_lsn();
  low pg_lsn := from_lsn;
  high pg_lsn := to_lsn;
  till pg_lsn;
  begins pg_lsn;
  step bigint := 1048576;
  certain boolean := smallest > seen;
  firsts jsonb := '{}';
  found record;
BEGIN
  IF wanted IS NULL THEN
    RETURN;
  END IF;
  LOOP
    till := logminer.reading_end(high, to_lsn, low);
    begins := logminer.behind_switch(low, till);
    IF begins < till THEN
      SELECT jsonb_object_agg(w.xid, w.first_lsn) FILTER (WHERE w.xid <> '0') AS firsts, bool_or(w.certain) AS certain INTO found
      FROM (SELECT r.xid::text, min(r.start_lsn) AS first_lsn,
                   bool_or(r.xid = '0' AND split_part(r.description, ' ', 2)::bigint <= smallest) AS certain
            FROM pg_get_wal_records_info(begins, till) r
            WHERE r.xid::text::bigint = ANY (wanted) OR r.resource_manager = 'Standby' AND r.record_type = 'RUNNING_XACTS'
            GROUP BY r.xid) w;
      firsts := firsts || coalesce(found.firsts, '{}');      -- older ones win
      certain := certain OR coalesce(found.certain, false);
    END IF;
    EXIT WHEN certain OR low <= oldest;
    high := low;
    low := CASE WHEN low - oldest > step THEN low - step::numeric ELSE oldest END;
    step := step * 4;
  END LOOP;
  RETURN QUERY
    SELECT f.key::bigint, coalesce(logminer.record_top(f.value::pg_lsn), f.key::bigint) FROM jsonb_each_text(firsts) f;
END $$;

-- The text of a COMMIT, ABORT or PREPARE record, taken apart.
CREATE FUNCTION logminer.record_time(description text) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT (regexp_match(description, '(\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d)(?:;|$)'))[1]::timestamptz
$$;

CREATE FUNCTION logminer.record_children(description text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(string_to_array((regexp_match(description, '(?:; |: )subxacts: ([0-9 ]+?)(?:;|$)'))[1], ' ')::bigint[], '{}')
$$;
