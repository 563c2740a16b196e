-- SQL_REDO's literals, by declared type (facts measured on DM8, RLOG_APPEND_LOGIC = 2).

-- 3.14159 -> 3.14159E0: DM writes floating numbers with an exponent.
CREATE FUNCTION logminer.scientific(number text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  part text[] := regexp_match(number, '^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
  digits text;
  exponent int;
  leading_zeros int;
BEGIN
  IF part IS NULL THEN
    RETURN number;
  END IF;
  digits := part[2] || coalesce(part[3], '');
  leading_zeros := length(digits) - length(ltrim(digits, '0'));
  exponent := coalesce(part[4]::int, 0) + length(part[2]) - 1 - leading_zeros;
  digits := rtrim(ltrim(digits, '0'), '0');
  IF digits = '' THEN
    RETURN part[1] || '0E0';
  END IF;
  RETURN part[1] || left(digits, 1) || CASE WHEN length(digits) > 1 THEN '.' || substr(digits, 2) ELSE '' END
    || 'E' || exponent;
END $$;

-- The base type under any number of domains.
CREATE FUNCTION logminer.base_type(type_oid oid) RETURNS oid
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE down(id, base) AS (
    SELECT oid, typbasetype FROM pg_type WHERE oid = type_oid
    UNION ALL
    SELECT t.oid, t.typbasetype FROM down JOIN pg_type t ON t.oid = down.base)
  SELECT id FROM down WHERE base = 0
$$;

-- +08:00
CREATE FUNCTION logminer.offset_text(seconds integer) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN seconds < 0 THEN '-' ELSE '+' END || to_char(abs(seconds) / 3600, 'FM00') || ':' || to_char(abs(seconds) / 60 % 60, 'FM00')
$$;

-- The expression that renders `reference` (such as NEW."A"); NULL where the value is NULL. It must not depend on the
-- writing session's settings (DateStyle, TimeZone, bytea_output).
CREATE FUNCTION logminer.literal_expression(type_oid oid, reference text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN type_oid = '"SYS".datetime2'::regtype THEN format('''TIMESTAMP'''''' || (%s)::text || ''''''''', reference)
    WHEN logminer.interval_fields(type_oid) IS NOT NULL THEN format('logminer.interval_literal(%s, %L)', reference, logminer.interval_fields(type_oid))
    ELSE CASE logminer.base_type(type_oid)::regtype
    WHEN 'smallint'::regtype THEN format('(%s)::text', reference)
    WHEN 'integer'::regtype THEN format('(%s)::text', reference)
    WHEN 'bigint'::regtype THEN format('(%s)::text', reference)
    WHEN 'numeric'::regtype THEN format('(%s)::text', reference)
    WHEN 'real'::regtype THEN format('logminer.scientific((%s)::text)', reference)
    WHEN 'double precision'::regtype THEN format('logminer.scientific((%s)::text)', reference)
    WHEN 'boolean'::regtype THEN format('(%s)::integer::text', reference)
    WHEN 'bit'::regtype THEN format('(%s)::text', reference)
    WHEN 'date'::regtype THEN format('''DATE'''''' || to_char(%s, ''YYYY-MM-DD'') || ''''''''', reference)
    WHEN 'time'::regtype THEN format('''TIME'''''' || (%s)::text || ''''''''', reference)
    WHEN 'timestamp'::regtype
      THEN format('''TIMESTAMP'''''' || to_char(%s, ''YYYY-MM-DD HH24:MI:SS.US'') || ''''''''', reference)
    WHEN 'timestamptz'::regtype
      THEN format('''TIMESTAMP'''''' || to_char((%s) AT TIME ZONE interval %L, ''YYYY-MM-DD HH24:MI:SS.US'') || '' %s''''''',
                  reference, logminer.setting('offset'), logminer.setting('offset'))
    -- Its cast to text would drop the blanks that VARCHAR2 keeps.
    WHEN 'bpchar'::regtype THEN format(CASE WHEN type_oid = '"SYS".varchar2'::regtype THEN $e$'''' || replace(format('%%s', %s), '''', '''''') || ''''$e$
      ELSE $e$'''' || replace((%s)::text, '''', '''''') || ''''$e$ END, reference)
    WHEN 'timetz'::regtype THEN format('''TIME'''''' || to_char((%s)::time, ''HH24:MI:SS.US'') || '' '' || logminer.offset_text(extract(timezone FROM %s)::integer) || ''''''''',
                                       reference, reference)
    WHEN 'bytea'::regtype THEN format('''0x'' || upper(encode(%s, ''hex''))', reference)
    ELSE format(''''''''' || replace((%s)::text, '''''''', '''''''''''') || ''''''''', reference)
  END END
$$;
