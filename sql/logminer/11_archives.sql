-- The log's segments as DM's archive files.

-- Archives that the server has deleted (lever `purge`), and faults of single ones: lost (listed, but cannot be opened), unlisted
-- (a gap, or a file that appears late), duplicate (listed twice, as with two destinations).
CREATE TABLE logminer.purged (number bigint PRIMARY KEY, name text, created timestamptz, closed timestamptz, deleted timestamptz DEFAULT clock_timestamp());
CREATE TABLE logminer.archive_fault (number bigint PRIMARY KEY, fault text NOT NULL CHECK (fault IN ('lost', 'unlisted', 'duplicate')));

CREATE FUNCTION logminer.segments_on_disk(OUT number bigint, OUT name text, OUT size bigint, OUT modified timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT ('x' || substr(w.name, 9, 8))::bit(32)::bigint * (4294967296 / logminer.segment_size())
           + ('x' || substr(w.name, 17, 8))::bit(32)::bigint,
         w.name, w.size, w.modification
  FROM pg_ls_waldir() w
  WHERE w.name ~ '^[0-9A-F]{24}$'
$$;

CREATE FUNCTION logminer.segments(OUT number bigint, OUT name text, OUT size bigint, OUT modified timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT s.* FROM logminer.segments_on_disk() s WHERE s.number > coalesce((SELECT max(number) FROM logminer.purged), -1)
$$;

-- Start of the oldest segment from which the log is there without a gap up to now. What was purged is there all the same: which
-- transactions were open behind it must be known, since their ends are shown.
CREATE FUNCTION logminer.oldest_lsn() RETURNS pg_lsn
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
  SELECT '0/0'::pg_lsn + min(number)::numeric * logminer.segment_size()
  FROM (SELECT number, number - row_number() OVER (ORDER BY number) AS run FROM logminer.segments_on_disk()) s
  WHERE run = (SELECT max(number - place) FROM
                 (SELECT number, row_number() OVER (ORDER BY number) AS place FROM logminer.segments_on_disk()) c
               WHERE number <= logminer.bytes(pg_current_wal_insert_lsn()) / logminer.segment_size())
$$;

-- The kept archives: each segment up to the one that is being written, which is ACTIVE.
CREATE FUNCTION logminer.archives(
  OUT number bigint, OUT path text, OUT first_lsn pg_lsn, OUT end_lsn pg_lsn, OUT active boolean,
  OUT clsn bigint, OUT size bigint, OUT used bigint, OUT created timestamptz, OUT closed timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer AS $$
DECLARE
  e record;
  segment bigint := logminer.segment_size();
  active_number bigint;
  g bigint := logminer.granularity();
  directory text := current_setting('data_directory');
BEGIN
  SELECT * INTO e FROM logminer.archived();
  active_number := logminer.bytes(e.whole) / segment;
  RETURN QUERY
    SELECT s.number, directory || '/pg_wal/' || s.name, a.first, a.first + segment::numeric, s.number = active_number,
           CASE WHEN s.number = active_number THEN e.scn ELSE logminer.scn(a.first + (segment - 1)::numeric, g) END,
           segment, CASE WHEN s.number = active_number THEN logminer.bytes(e.whole) - s.number * segment ELSE segment END,
           coalesce(lag(s.modified) OVER (ORDER BY s.number), s.modified),
           CASE WHEN s.number < active_number THEN s.modified END
    FROM logminer.segments() s CROSS JOIN LATERAL (SELECT '0/0'::pg_lsn + s.number::numeric * segment AS first) a
    LEFT JOIN logminer.archive_fault f ON f.number = s.number,
    generate_series(1, CASE f.fault WHEN 'unlisted' THEN 0 WHEN 'duplicate' THEN 2 ELSE 1 END)
    WHERE s.number <= active_number
    ORDER BY s.number;
END $$;
