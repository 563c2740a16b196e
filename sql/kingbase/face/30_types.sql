-- Types of the Oracle mode, under their names and with numbers of their own: with the values, texts and type modifiers of a type of
-- PostgreSQL. A bare DATE is the one with a time, since schema sys comes before pg_catalog in the search_path.
CREATE SCHEMA sys;

-- like_type's own functions under other names, and casts without function both ways.
CREATE PROCEDURE kernel.make_type(name text, like_type regtype, more text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
  type sys_type := (SELECT t FROM sys_type t WHERE t.oid = like_type);
  f record;
  new text := format('sys.%I', name);
BEGIN
  EXECUTE 'CREATE TYPE ' || new;
  FOR f IN SELECT k.place, p.proname, p.oid FROM (VALUES (1, type.typinput), (2, type.typoutput), (3, type.typreceive), (4, type.typsend)) k(place, oid) JOIN sys_proc p ON p.oid = k.oid LOOP
    EXECUTE format('CREATE FUNCTION kernel.%I(%s) RETURNS %s LANGUAGE internal IMMUTABLE STRICT AS %L', name || '_' || f.place,
      CASE f.place WHEN 1 THEN 'cstring, oid, int' WHEN 3 THEN 'internal, oid, int' ELSE new END, CASE f.place WHEN 2 THEN 'cstring' WHEN 4 THEN 'bytea' ELSE new END, f.proname);
  END LOOP;
  EXECUTE format('CREATE TYPE %s (INPUT = kernel.%I, OUTPUT = kernel.%I, RECEIVE = kernel.%I, SEND = kernel.%I, LIKE = %s, CATEGORY = %L%s%s%s)',
    new, name || '_1', name || '_2', name || '_3', name || '_4', like_type, type.typcategory,
    CASE WHEN type.typmodin <> 0 THEN format(', TYPMOD_IN = %s, TYPMOD_OUT = %s', type.typmodin, type.typmodout) END,
    CASE WHEN type.typcollation <> 0 THEN ', COLLATABLE = true' END, more);
  EXECUTE format('CREATE CAST (%s AS %s) WITHOUT FUNCTION AS IMPLICIT', new, like_type);
  EXECUTE format('CREATE CAST (%s AS %s) WITHOUT FUNCTION AS ASSIGNMENT', like_type, new);
END $$;
CALL kernel.make_type('number', 'numeric');
CALL kernel.make_type('varchar2', 'varchar');
CALL kernel.make_type('nvarchar2', 'varchar');
CALL kernel.make_type('clob', 'text');
CALL kernel.make_type('nclob', 'text');
CALL kernel.make_type('blob', 'bytea');
CALL kernel.make_type('raw', 'bytea');
CALL kernel.make_type('date', 'timestamp');
CALL kernel.make_type('tinyint', 'smallint');
CALL kernel.make_type('binary_float', 'real');
CALL kernel.make_type('binary_double', 'double precision');

-- Type modifiers are kept by the cast of a type to itself.
CREATE FUNCTION kernel.number_fit(sys.number, int) RETURNS sys.number LANGUAGE internal IMMUTABLE STRICT AS 'numeric';
CREATE CAST (sys.number AS sys.number) WITH FUNCTION kernel.number_fit(sys.number, int) AS IMPLICIT;
CREATE FUNCTION kernel.varchar2_fit(sys.varchar2, int, boolean) RETURNS sys.varchar2 LANGUAGE internal IMMUTABLE STRICT AS 'varchar';
CREATE CAST (sys.varchar2 AS sys.varchar2) WITH FUNCTION kernel.varchar2_fit(sys.varchar2, int, boolean) AS IMPLICIT;
CREATE FUNCTION kernel.nvarchar2_fit(sys.nvarchar2, int, boolean) RETURNS sys.nvarchar2 LANGUAGE internal IMMUTABLE STRICT AS 'varchar';
CREATE CAST (sys.nvarchar2 AS sys.nvarchar2) WITH FUNCTION kernel.nvarchar2_fit(sys.nvarchar2, int, boolean) AS IMPLICIT;

-- What expressions are made of: numbers, text, dates.
CREATE FUNCTION kernel.number_from(bigint) RETURNS sys.number LANGUAGE internal IMMUTABLE STRICT AS 'int8_numeric';
CREATE CAST (bigint AS sys.number) WITH FUNCTION kernel.number_from(bigint) AS ASSIGNMENT;
CREATE FUNCTION kernel.number_from(int) RETURNS sys.number LANGUAGE internal IMMUTABLE STRICT AS 'int4_numeric';
CREATE CAST (int AS sys.number) WITH FUNCTION kernel.number_from(int) AS ASSIGNMENT;
CREATE FUNCTION kernel.float_from(numeric) RETURNS sys.binary_float LANGUAGE internal IMMUTABLE STRICT AS 'numeric_float4';
CREATE CAST (numeric AS sys.binary_float) WITH FUNCTION kernel.float_from(numeric) AS ASSIGNMENT;
CREATE FUNCTION kernel.double_from(numeric) RETURNS sys.binary_double LANGUAGE internal IMMUTABLE STRICT AS 'numeric_float8';
CREATE CAST (numeric AS sys.binary_double) WITH FUNCTION kernel.double_from(numeric) AS ASSIGNMENT;
CREATE FUNCTION kernel.float_from(int) RETURNS sys.binary_float LANGUAGE internal IMMUTABLE STRICT AS 'i4tof';
CREATE CAST (int AS sys.binary_float) WITH FUNCTION kernel.float_from(int) AS ASSIGNMENT;
CREATE FUNCTION kernel.double_from(int) RETURNS sys.binary_double LANGUAGE internal IMMUTABLE STRICT AS 'i4tod';
CREATE CAST (int AS sys.binary_double) WITH FUNCTION kernel.double_from(int) AS ASSIGNMENT;
CREATE FUNCTION kernel.tinyint_from(int) RETURNS sys.tinyint LANGUAGE internal IMMUTABLE STRICT AS 'i4toi2';
CREATE CAST (int AS sys.tinyint) WITH FUNCTION kernel.tinyint_from(int) AS ASSIGNMENT;
CREATE FUNCTION kernel.date_from(timestamptz) RETURNS sys.date LANGUAGE internal STABLE STRICT AS 'timestamptz_timestamp';
CREATE CAST (timestamptz AS sys.date) WITH FUNCTION kernel.date_from(timestamptz) AS ASSIGNMENT;
CREATE CAST (sys.varchar2 AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS sys.varchar2) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (sys.nvarchar2 AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS sys.nvarchar2) WITHOUT FUNCTION AS ASSIGNMENT;
