-- Types of DM8 that PostgreSQL lacks, or has under another name: domains of the schema SYS. What a column of each is called in the
-- dictionary stands in logminer.type_name.
CREATE DOMAIN "SYS".byte AS "SYS".tinyint;
CREATE DOMAIN "SYS".number AS numeric;
-- FLOAT keeps decimal digits; its scale is 129.
CREATE DOMAIN "SYS".decimal_float AS numeric;
CREATE DOMAIN "SYS".image AS bytea;
CREATE DOMAIN "SYS".rowid AS varchar(18);
CREATE DOMAIN "SYS".bfile AS varchar(512);
-- DATE in a database that is compatible with Oracle.
CREATE DOMAIN "SYS".date_with_time AS timestamp(0);
-- Nine digits, for which PostgreSQL's timestamps have no place: the text that a driver gives.
CREATE DOMAIN "SYS".datetime2 AS varchar(29) CHECK (VALUE ~ '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}$');
CREATE DOMAIN "SYS".timestamp_local AS timestamptz(6);

-- The 13 kinds of INTERVAL: interval_year, interval_day_to_second, …
DO $$
DECLARE
  fields text;
BEGIN
  FOREACH fields IN ARRAY ARRAY['year', 'month', 'year to month', 'day', 'hour', 'minute', 'second', 'day to hour', 'day to minute', 'day to second',
                                'hour to minute', 'hour to second', 'minute to second'] LOOP
    EXECUTE format('CREATE DOMAIN "SYS".%I AS interval %s', 'interval_' || replace(fields, ' ', '_'), fields);
  END LOOP;
END $$;

-- YEAR TO MONTH of interval_year_to_month.
CREATE FUNCTION logminer.interval_fields(type_oid oid) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT upper(replace(substr(typname, 10), '_', ' ')) FROM pg_type
  WHERE oid = type_oid AND typnamespace = '"SYS"'::regnamespace AND typname LIKE 'interval\_%'
$$;

-- INTERVAL'-1-2' YEAR TO MONTH: in the column's own fields, whatever the session's IntervalStyle.
CREATE FUNCTION logminer.interval_literal(value interval, fields text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  months bigint := extract(year FROM value)::bigint * 12 + extract(month FROM value)::bigint;
  micros numeric := extract(day FROM value) * 86400000000 + extract(hour FROM value) * 3600000000 + extract(minute FROM value) * 60000000
    + extract(microseconds FROM value);
  rest numeric := abs(micros);
  first text := split_part(fields, ' ', 1);
  last text := split_part(fields, ' TO ', -1);
  inside boolean := false;
  body text := '';
  word text;
  unit numeric;
BEGIN
  IF first IN ('YEAR', 'MONTH') THEN
    body := CASE fields WHEN 'YEAR' THEN (abs(months) / 12)::text WHEN 'MONTH' THEN abs(months)::text
      ELSE abs(months) / 12 || '-' || abs(months) % 12 END;
    RETURN format('INTERVAL''%s%s'' %s', CASE WHEN months < 0 THEN '-' END, body, fields);
  END IF;
  FOREACH word IN ARRAY ARRAY['DAY', 'HOUR', 'MINUTE', 'SECOND'] LOOP
    unit := CASE word WHEN 'DAY' THEN 86400000000 WHEN 'HOUR' THEN 3600000000 WHEN 'MINUTE' THEN 60000000 ELSE 1000000 END;
    inside := inside OR word = first;
    IF inside THEN
      body := body || CASE WHEN word = first THEN '' WHEN word = 'HOUR' THEN ' ' ELSE ':' END
        || CASE WHEN word = 'SECOND' THEN to_char(rest / unit, CASE WHEN word = first THEN 'FM999999999990.000000' ELSE 'FM00.000000' END)
                WHEN word = first THEN div(rest, unit)::text
                ELSE lpad(div(rest, unit)::text, 2, '0') END;
      rest := rest % unit;
    END IF;
    EXIT WHEN word = last;
  END LOOP;
  RETURN format('INTERVAL''%s%s'' %s', CASE WHEN micros < 0 THEN '-' END, body, fields);
END $$;
