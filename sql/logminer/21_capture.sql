-- What a row change writes into the log: a non-transactional logical message, which stands in the log in true order
-- whatever becomes of its transaction. Header and text both travel in the message's prefix, since that is the part
-- which pg_walinspect shows as plain text (the content it shows in hexadecimal, ten times as dear to read back):
--   LM, operation code, xid, time, session, user, row id, table oid, table version, owner, table, extras   (between \x01)
--   \x02 and the ready SQL_REDO text, without ROWID predicate and delimiter.
-- extras is empty or a JSON object: m: RLOG_APPEND_LOGIC, if not 2; l: the text may hold LOB handles; s, c, n, r: STATUS, CSF, SSN,
-- ROLL_BACK of a crafted record.

-- Called before the first change of a transaction, and again after a ROLLBACK TO SAVEPOINT took the transaction-local
-- mark back; the reader takes the first START of a transaction and passes over the others.
-- The session lock (xid, position / 8) is what V$TRX reads: it survives ROLLBACK TO and is taken before START is
-- written, so that a transaction not yet in V$TRX starts beyond any position read before. The lock of a transaction that
-- has ended is ignored by V$TRX and released by a later transaction of the session (one in 16 looks, for it costs).
CREATE FUNCTION logminer.begin_transaction(xid text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moment text := extract(epoch FROM clock_timestamp())::text;
  written pg_lsn;
BEGIN
  IF right(moment, 6)::int % 16 = 0 THEN
    PERFORM pg_advisory_unlock(logminer.signed(classid), logminer.signed(objid))
    FROM (SELECT classid::bigint, objid::bigint, row_number() OVER (PARTITION BY classid ORDER BY objid::bigint) AS nth
          FROM pg_locks
          WHERE locktype = 'advisory' AND objsubid = 2 AND pid = pg_backend_pid()
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) held
    WHERE classid <> xid::bigint % 4294967296 OR nth > 1;
  END IF;
  PERFORM pg_advisory_lock(logminer.signed(xid::bigint % 4294967296),
                           logminer.signed(logminer.bytes(pg_current_wal_insert_lsn()) / 8 % 4294967296));
  written := pg_logical_emit_message(false, concat_ws(E'\x01', 'LM', '6', xid, moment, pg_backend_pid(), session_user,
                                                      '', '', '', '', '', E'\x02'), '');
  PERFORM set_config('logminer.xid', xid, true);
END $$;

-- An unsigned 32 bit number as PostgreSQL's signed integer, as advisory locks want it.
CREATE FUNCTION logminer.signed(number bigint) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT (CASE WHEN number >= 2147483648 THEN number - 4294967296 ELSE number END)::integer $$;

-- The tables there are; logic_log: ADD LOGIC LOG, which counts under RLOG_IGNORE_TABLE_SET = 0.
CREATE TABLE logminer.table_version (table_oid oid PRIMARY KEY, version integer NOT NULL, logic_log boolean NOT NULL DEFAULT false);

-- What each version of a table looked like; those of dropped tables stay.
CREATE TABLE logminer.table_shape (
  table_oid oid, version integer, owner text, name text, places int[], columns text[], types text[], keys int[],
  PRIMARY KEY (table_oid, version));

CREATE FUNCTION logminer.new_version(wanted oid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  number int;
BEGIN
  INSERT INTO logminer.table_version VALUES (wanted, 1)
    ON CONFLICT (table_oid) DO UPDATE SET version = table_version.version + 1
    RETURNING version INTO number;
  INSERT INTO logminer.table_shape
    SELECT c.oid, number, n.nspname, c.relname,
           array_agg(a.attnum::int ORDER BY a.attnum), array_agg(a.attname::text ORDER BY a.attnum),
           array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum),
           (SELECT x.indkey::int2[]::int[] FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.oid = wanted
    GROUP BY c.oid, n.nspname;
END $$;

-- The handle of a large value: the same for the same value.
CREATE FUNCTION logminer.lob_id(value text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT abs(hashtextextended(value, 0) % 1000000007) $$;
CREATE FUNCTION logminer.lob_id(value bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT abs(hashtextextended(encode(value, 'hex'), 0) % 1000000007) $$;

-- Row ids: 18 characters as on DM8. Stable while the key is (a table without a primary key: while the row does not move).
CREATE FUNCTION logminer.row_id(key text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT 'AAAAAAA' || left(encode(int8send(hashtextextended(key, 0)), 'base64'), 11) $$;

-- A value as SQL_REDO has it: where there is a limit, a longer CLOB or BLOB is its handle.
CREATE FUNCTION logminer.value_expression(type_oid oid, reference text, lob_limit int) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN lob_limit IS NULL OR lob IS NULL THEN literal
    ELSE format('CASE WHEN octet_length(%s) > %s THEN ''OUT_%s(LOB_ID: '' || logminer.lob_id(%s) || '')'' ELSE %s END',
                reference, lob_limit, lob, reference, literal) END
  FROM (SELECT logminer.literal_expression(type_oid, reference) AS literal,
               CASE logminer.base_type(type_oid)::regtype WHEN 'text'::regtype THEN 'CLOB' WHEN 'bytea'::regtype THEN 'BLOB' END AS lob) v
$$;

-- Writes the trigger function of one table: every text is put together by plain expressions over the table's own
-- columns, so that a row costs microseconds.
CREATE FUNCTION logminer.write_trigger(table_oid oid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  owner text;
  name text;
  columns text[];      -- quoted as SQL_REDO has them
  types oid[];
  places int[];        -- of the primary key's columns in the arrays above
  quoted text;
  logged record;
  mode text := logminer.ini('RLOG_APPEND_LOGIC');
  lob_limit int := CASE WHEN logminer.setting('lob') = 'out' THEN logminer.ini('LOB_MAX_INROW_LEN')::int END;
  has_lobs boolean := false;
  extras text;
  new_values text := '';
  old_values text := '';
  key_new text;
  key_old text;
  insert_text text;
  set_text text := '';
  where_text text;
  i int;
  -- Rows of partitions under the partition's own name and number, not the root's.
  own boolean := logminer.setting('partition_rows') = 'own' AND (SELECT relkind = 'p' FROM pg_class c WHERE c.oid = write_trigger.table_oid);
  target text;
  emit text;
BEGIN
  SELECT n.nspname, c.relname INTO owner, name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_oid;
  SELECT array_agg(attname::text ORDER BY attnum), array_agg(atttypid ORDER BY attnum)
    INTO columns, types
  FROM pg_attribute WHERE attrelid = table_oid AND attnum > 0 AND NOT attisdropped
    AND (attgenerated = '' OR logminer.setting('virtual_column') = 'written');
  IF columns IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(array_position(columns, a.attname::text) ORDER BY k.place) INTO places
  FROM pg_index x, unnest(x.indkey) WITH ORDINALITY k(attnum, place), pg_attribute a
  WHERE x.indrelid = table_oid AND x.indisprimary AND a.attrelid = table_oid AND a.attnum = k.attnum;
  SELECT v.version, v.logic_log INTO logged FROM logminer.table_version v WHERE v.table_oid = write_trigger.table_oid;
  -- What this table does not log now: with 0 nothing at all, else only where its transactions begin.
  IF mode NOT IN ('1', '2', '3') OR logminer.ini('RLOG_IGNORE_TABLE_SET') = '0' AND NOT logged.logic_log THEN
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION logminer.%I() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  xid text := pg_current_xact_id()::text;
BEGIN
  IF %L <> '0' AND current_setting('logminer.xid', true) IS DISTINCT FROM xid THEN
    PERFORM logminer.begin_transaction(xid);
  END IF;
  RETURN NULL;
END $body$ $function$, 'log_' || table_oid, mode);
    RETURN;
  END IF;

  quoted := logminer.quoted(owner) || '.' || logminer.quoted(name);
  insert_text := format('%L', format('INSERT INTO %s(%s) VALUES(', quoted,
    (SELECT string_agg(logminer.quoted(c), ', ' ORDER BY place) FROM unnest(columns) WITH ORDINALITY u(c, place))));
  where_text := ''' WHERE ''';
  FOR i IN 1 .. array_length(columns, 1) LOOP
    new_values := new_values || format(E'    n%s := %s;\n', i, logminer.value_expression(types[i], format('NEW.%I', columns[i]), lob_limit));
    old_values := old_values || format(E'    o%s := %s;\n', i, logminer.value_expression(types[i], format('OLD.%I', columns[i]), lob_limit));
    has_lobs := has_lobs OR logminer.base_type(types[i])::regtype IN ('text', 'bytea');
    insert_text := insert_text || CASE WHEN i > 1 THEN ' || '', ''' ELSE '' END || format(E'\n      || coalesce(n%s, ''NULL'')', i);
    set_text := set_text || format(E'\n      || CASE WHEN n%s IS DISTINCT FROM o%s THEN %L || coalesce(n%s, ''NULL'') ELSE '''' END',
      i, i, ', ' || logminer.quoted(columns[i]) || ' = ', i);
    where_text := where_text || format(E'\n      || %L || coalesce(''= '' || o%s, ''IS NULL'')',
      CASE WHEN i > 1 THEN ' AND ' ELSE '' END || logminer.quoted(columns[i]) || ' ', i);
  END LOOP;
  insert_text := insert_text || ' || '')''';
  set_text := '''''' || set_text;
  IF places IS NULL THEN
    key_new := 'NEW.ctid::text';
    key_old := 'OLD.ctid::text';
  ELSE
    SELECT string_agg(format('n%s', p), ' || '','' || '), string_agg(format('o%s', p), ' || '','' || ')
      INTO key_new, key_old FROM unnest(places) p;
  END IF;
  extras := jsonb_strip_nulls(jsonb_build_object('m', nullif(mode, '2')::int, 'l', CASE WHEN has_lobs AND lob_limit IS NOT NULL THEN 1 END))::text;
  target := CASE WHEN own
    THEN format('E''\x01'' || tg_relid || E''\x01%s\x01'' || tg_table_schema || E''\x01'' || tg_table_name || E''\x01''', logged.version)
    ELSE format('%L', format(E'\x01%s\x01%s\x01%s\x01%s\x01', table_oid, logged.version, owner, name)) END;
  emit := format(
    $emit$written := pg_logical_emit_message(false, E'LM\x01' || op || E'\x01' || xid || E'\x01' || extract(epoch FROM clock_timestamp())
    || E'\x01' || pg_backend_pid() || E'\x01' || session_user || E'\x01' || logminer.row_id(key) || %s || sql_redo, '');$emit$,
    CASE WHEN mode = '2' AND extras <> '{}'      -- only a text with a handle in it needs a second look when it is mined
      THEN format('%s || CASE WHEN position(''(LOB_ID: '' IN sql_redo) > 0 THEN %L ELSE '''' END || E''\x02''', target, extras)
      ELSE format('%s || %L', target, coalesce(nullif(extras, '{}'), '') || E'\x02') END);

  EXECUTE format($function$
CREATE OR REPLACE FUNCTION logminer.%I() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_variable
DECLARE
  xid text := pg_current_xact_id()::text;
  op text;
  key text;
  sql_redo text;
  written pg_lsn;
  %s
BEGIN
  IF TG_OP <> 'DELETE' THEN
%s  END IF;
  IF TG_OP <> 'INSERT' THEN
%s  END IF;
  IF TG_OP = 'INSERT' THEN
    op := '1';
    key := %s;
    sql_redo := %s;
  ELSIF TG_OP = 'UPDATE' THEN
    op := '3';
    key := %s;
    sql_redo := %s;
    -- An UPDATE that changes nothing leaves no row.
    IF sql_redo = '' THEN
      RETURN NULL;
    END IF;
    sql_redo := %L || substr(sql_redo, 3) || %s;
  ELSE
    op := '2';
    key := %s;
    sql_redo := %L || %s;
  END IF;
  IF current_setting('logminer.xid', true) IS DISTINCT FROM xid THEN
    PERFORM logminer.begin_transaction(xid);
  END IF;
  %s
  %s
  RETURN NULL;
END $body$ $function$,
    'log_' || table_oid,
    (SELECT string_agg(format('n%s text; o%s text;', g, g), ' ') FROM generate_series(1, array_length(columns, 1)) g),
    new_values, old_values, key_new, insert_text, key_old, set_text,
    'UPDATE ' || quoted || ' SET ', where_text, key_old, 'DELETE FROM ' || quoted, where_text,
    CASE WHEN own THEN format($own$sql_redo := overlay(sql_redo PLACING '"' || replace(tg_table_schema, '"', '""') || '"."' || replace(tg_table_name, '"', '""') || '"'
                                FROM position(%L IN sql_redo) FOR %s);$own$, quoted, length(quoted)) ELSE '' END,
    emit);
END $$;

CREATE FUNCTION logminer.quoted(name text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT '"' || replace(name, '"', '""') || '"' $$;
