-- ROLLBACK TO SAVEPOINT: the compensating row of a change, made from the change's own text.

CREATE FUNCTION logminer.undo_code(code int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE code WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE code END $$;

-- "A" = 1 AND "B" IS NULL, or "A" = 1, "B" = NULL, as names and literals.
CREATE FUNCTION logminer.assignments(list text, OUT place bigint, OUT name text, OUT literal text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE AS $$
  SELECT place, m[1], coalesce(m[2], 'NULL')
  FROM regexp_matches(list, '("(?:[^"]|"")+") (?:IS NULL|= (OUT_[CB]LOB\(LOB_ID: \d+\)|(?:[A-Z]+)?''(?:[^'']|'''')*''|[^'' ,;]+))', 'g') WITH ORDINALITY r(m, place)
$$;

CREATE FUNCTION logminer.undo_text(code int, redo text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name_form constant text := '"(?:[^"]|"")+"';
  literal_form constant text := 'OUT_[CB]LOB\(LOB_ID: \d+\)|(?:[A-Z]+)?''(?:[^'']|'''')*''|[^'' ,)]+';
  head text[];
  set_part text;
  where_part text;
  result text;
BEGIN
  IF code = 1 THEN
    head := regexp_match(redo, '^INSERT INTO (' || name_form || '\.' || name_form || ')\(((?:' || name_form || '(?:, )?)+)\) VALUES\((.*)\)$');
    SELECT 'DELETE FROM ' || head[1] || ' WHERE ' || string_agg(
             c.m[1] || CASE WHEN v.m[1] = 'NULL' THEN ' IS NULL' ELSE ' = ' || v.m[1] END, ' AND ' ORDER BY c.place)
      INTO result
    FROM regexp_matches(head[2], '(' || name_form || ')', 'g') WITH ORDINALITY c(m, place)
    JOIN regexp_matches(head[3], '(' || literal_form || ')', 'g') WITH ORDINALITY v(m, place) USING (place);
    RETURN result;
  ELSIF code = 2 THEN
    head := regexp_match(redo, '^DELETE FROM (' || name_form || '\.' || name_form || ') WHERE (.*)$');
    SELECT 'INSERT INTO ' || head[1] || '(' || string_agg(name, ', ' ORDER BY place) || ') VALUES('
           || string_agg(literal, ', ' ORDER BY place) || ')' INTO result
    FROM logminer.assignments(head[2]);
    RETURN result;
  END IF;
  head := regexp_match(redo, '^UPDATE (' || name_form || '\.' || name_form || ') SET ((?:' || name_form || ' = (?:' || literal_form
                             || ')(?:, )?)+) WHERE (.*)$');
  SELECT string_agg(w.name || ' = ' || w.literal, ', ' ORDER BY w.place) FILTER (WHERE s.name IS NOT NULL),
         string_agg(w.name || CASE WHEN coalesce(s.literal, w.literal) = 'NULL' THEN ' IS NULL'
                                   ELSE ' = ' || coalesce(s.literal, w.literal) END, ' AND ' ORDER BY w.place)
    INTO set_part, where_part
  FROM logminer.assignments(head[3]) w LEFT JOIN logminer.assignments(head[2]) s USING (name);
  RETURN 'UPDATE ' || head[1] || ' SET ' || set_part || ' WHERE ' || where_part;
END $$;
