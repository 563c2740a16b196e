-- Rows that are not shown as they were written: rendered with today's dictionary, with SQL_UNDO, after another
-- RLOG_APPEND_LOGIC, with LOB handles, or crafted.

-- A text taken apart: target, names and literals of VALUES or SET, names and literals of WHERE.
CREATE FUNCTION logminer.parsed(code int, redo text, OUT target text, OUT names text[], OUT literals text[], OUT where_names text[], OUT where_literals text[])
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name_form constant text := '"(?:[^"]|"")+"';
  literal_form constant text := 'OUT_[CB]LOB\(LOB_ID: \d+\)|(?:[A-Z]+)?''(?:[^'']|'''')*''|[^'' ,)]+';
  head text[];
BEGIN
  IF code = 1 THEN
    head := regexp_match(redo, '^INSERT INTO (' || name_form || '\.' || name_form || ')\(((?:' || name_form || '(?:, )?)+)\) VALUES\((.*)\)$');
    SELECT head[1], (SELECT array_agg(m[1] ORDER BY place) FROM regexp_matches(head[2], '(' || name_form || ')', 'g') WITH ORDINALITY r(m, place)),
           (SELECT array_agg(m[1] ORDER BY place) FROM regexp_matches(head[3], '(' || literal_form || ')', 'g') WITH ORDINALITY r(m, place))
      INTO target, names, literals;
    RETURN;
  ELSIF code = 2 THEN
    head := regexp_match(redo, '^DELETE FROM (' || name_form || '\.' || name_form || ') WHERE (.*)$');
    head := ARRAY[head[1], NULL, head[2]];
  ELSE
    head := regexp_match(redo, '^UPDATE (' || name_form || '\.' || name_form || ') SET ((?:' || name_form || ' = (?:' || literal_form
                               || ')(?:, )?)+) WHERE (.*)$');
    SELECT array_agg(a.name ORDER BY place), array_agg(a.literal ORDER BY place) INTO names, literals FROM logminer.assignments(head[2]) a;
  END IF;
  target := head[1];
  SELECT array_agg(a.name ORDER BY place), array_agg(a.literal ORDER BY place) INTO where_names, where_literals
  FROM logminer.assignments(head[3]) a;
END $$;

-- And put together; NULL where a SET has nothing left.
CREATE FUNCTION logminer.composed(code int, target text, names text[], literals text[], where_names text[], where_literals text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE code
    WHEN 1 THEN 'INSERT INTO ' || target || '(' || array_to_string(names, ', ') || ') VALUES(' || array_to_string(literals, ', ') || ')'
    WHEN 2 THEN 'DELETE FROM ' || target || ' WHERE ' || c.text
    ELSE 'UPDATE ' || target || ' SET ' || s.text || ' WHERE ' || c.text END
  FROM (SELECT string_agg(n || CASE WHEN l = 'NULL' THEN ' IS NULL' ELSE ' = ' || l END, ' AND ' ORDER BY place) AS text
        FROM unnest(where_names, where_literals) WITH ORDINALITY u(n, l, place)) c,
       (SELECT string_agg(n || ' = ' || l, ', ' ORDER BY place) AS text FROM unnest(names, literals) WITH ORDINALITY u(n, l, place)) s
$$;

-- names and literals of one version of a table in another's columns: by the columns' identity, one added since as NULL (measured
-- for an INSERT; not in a SET).
CREATE FUNCTION logminer.in_columns(names text[], literals text[], then_places int[], then_columns text[], now_places int[], now_columns text[],
                                    fill boolean, OUT new_names text[], OUT new_literals text[])
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(logminer.quoted(n.name) ORDER BY n.nth), array_agg(coalesce(v.literal, 'NULL') ORDER BY n.nth)
  FROM unnest(now_places, now_columns) WITH ORDINALITY n(place, name, nth)
  LEFT JOIN (SELECT t.place, l.literal
             FROM unnest(names, literals) l(name, literal) JOIN unnest(then_places, then_columns) t(place, name) ON logminer.quoted(t.name) = l.name) v
    ON v.place = n.place
  WHERE fill OR v.place IS NOT NULL
$$;

-- `how` holds the levers and parameters by name, START_LOGMNR's options, and whether SQL_UNDO is wanted.
CREATE FUNCTION logminer.present(
  INOUT code int, INOUT roll_back int, INOUT seg_owner text, INOUT table_name text, INOUT body bytea, row_id text, of_table bigint, of_version int,
  extras jsonb, how jsonb, OUT undo bytea, OUT ssn int, OUT csf int, OUT status int, OUT shown boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  redo text := convert_from(body, 'UTF8');
  undo_sql text;
  options int := (how ->> 'options')::int;
  mode int := coalesce((extras ->> 'm')::int, 2);
  old_shape record;
  shape record;
  p record;
  s record;
  w record;
  verdict text;
  keys text[];
BEGIN
  status := 0;
  shown := true;
  IF extras ? 's' THEN
    status := (extras ->> 's')::int;
    csf := (extras ->> 'c')::int;
    ssn := (extras ->> 'n')::int;
    roll_back := (extras ->> 'r')::int;
    RETURN;
  END IF;
  SELECT * INTO old_shape FROM logminer.table_shape h WHERE h.table_oid = of_table AND h.version = of_version;
  shape := old_shape;
  IF how ->> 'dictionary' = 'current' THEN
    SELECT h.* INTO shape FROM logminer.table_version v JOIN logminer.table_shape h USING (table_oid, version) WHERE v.table_oid = of_table;
    -- The strictest of what the levers say about the changes between then and now.
    IF shape IS NULL THEN
      verdict := how ->> 'dropped_table';
    ELSE
      SELECT CASE WHEN bool_or(x = 'vanish') THEN 'vanish' WHEN bool_or(x = 'unsupported') THEN 'unsupported' ELSE 'render' END INTO verdict
      FROM (SELECT how ->> 'renamed' AS x WHERE (old_shape.owner, old_shape.name) <> (shape.owner, shape.name)
            UNION ALL
            SELECT CASE WHEN n.place IS NULL THEN how ->> 'dropped_column' WHEN n.name <> t.name THEN how ->> 'renamed'
                        WHEN n.type <> t.type THEN how ->> 'modified_column' END
            FROM unnest(old_shape.places, old_shape.columns, old_shape.types) t(place, name, type)
            LEFT JOIN unnest(shape.places, shape.columns, shape.types) n(place, name, type) USING (place)) c;
    END IF;
    IF verdict = 'vanish' THEN
      shown := false;
      RETURN;
    ELSIF verdict = 'unsupported' THEN
      code := 255;
      body := NULL;
      RETURN;
    END IF;
    IF old_shape.version <> shape.version THEN
      seg_owner := shape.owner;
      table_name := shape.name;
      p := logminer.parsed(code, redo);
      s := logminer.in_columns(p.names, p.literals, old_shape.places, old_shape.columns, shape.places, shape.columns, code = 1);
      w := logminer.in_columns(p.where_names, p.where_literals, old_shape.places, old_shape.columns, shape.places, shape.columns, true);
      redo := logminer.composed(code, logminer.quoted(shape.owner) || '.' || logminer.quoted(shape.name),
                                s.new_names, s.new_literals, w.new_names, w.new_literals);
      IF redo IS NULL THEN      -- an UPDATE of columns that are gone
        shown := false;
        RETURN;
      END IF;
    END IF;
  END IF;
  -- SQL_UNDO (manual): under 1 an UPDATE's and DELETE's only without a primary key, under 3 an INSERT's only.
  IF (how ->> 'undo')::boolean AND code IN (1, 2, 3) AND (mode = 2 OR code = 1 OR mode = 1 AND shape.keys IS NULL) THEN
    undo_sql := logminer.undo_text(code, redo);
  END IF;
  -- RLOG_APPEND_LOGIC (manual; texts not measured): 1 finds the row by its key alone, if there is one, 3 by its ROWID.
  IF code IN (2, 3) AND (mode = 3 OR mode = 1 AND shape.keys IS NOT NULL) THEN
    p := logminer.parsed(code, redo);
    IF mode = 3 THEN
      redo := logminer.composed(code, p.target, p.names, p.literals, '{ROWID}', ARRAY[format('''%s''', row_id)]);
    ELSE
      SELECT array_agg(logminer.quoted(shape.columns[array_position(shape.places, k)])) INTO keys FROM unnest(shape.keys) k;
      SELECT array_agg(u.n ORDER BY place) AS names, array_agg(u.l ORDER BY place) AS literals INTO w
      FROM unnest(p.where_names, p.where_literals) WITH ORDINALITY u(n, l, place) WHERE u.n = ANY (keys);
      redo := logminer.composed(code, p.target, p.names, p.literals, w.names, w.literals);
    END IF;
  END IF;
  IF options & 2048 = 0 AND code IN (2, 3) AND mode <> 3 THEN
    redo := redo || format(' AND ROWID = ''%s''', row_id);
  END IF;
  IF options & 64 = 0 THEN
    redo := redo || ';';
    undo_sql := undo_sql || ';';
  END IF;
  IF extras ? 'l' AND how ->> 'LOGMNR_PARSE_LOB' = '0' THEN
    redo := logminer.without_handles(redo);
    undo_sql := logminer.without_handles(undo_sql);
  END IF;
  body := convert_to(redo, 'UTF8');
  undo := convert_to(undo_sql, 'UTF8');
END $$;

-- OUT_CLOB(LOB_ID: 525301) as OUT_CLOB, outside texts and names.
CREATE FUNCTION logminer.without_handles(sql_text text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN position('(LOB_ID: ' IN sql_text) > 0
    THEN regexp_replace(sql_text, '(''(?:[^'']|'''')*''|"(?:[^"]|"")*"|OUT_[CB]LOB(?=\(LOB_ID: ))(?:\(LOB_ID: \d+\))?', '\1', 'g') ELSE sql_text END
$$;
