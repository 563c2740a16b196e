-- Schemas, roles, levers.
CREATE SCHEMA logminer;
CREATE EXTENSION pg_walinspect SCHEMA logminer;
CREATE EXTENSION IF NOT EXISTS adminpack;

COMMENT ON SCHEMA logminer IS 'the works and the levers of the stand-in; nothing here exists on DM8';
CREATE SCHEMA dbms_logmnr;
COMMENT ON SCHEMA dbms_logmnr IS 'the package DBMS_LOGMNR';
CREATE SCHEMA "SYS";
COMMENT ON SCHEMA "SYS" IS 'DM8''s system views; names and columns in upper case, to be quoted';

-- Levers; README.md says what each does.
CREATE TABLE logminer.setting (name text PRIMARY KEY, value text NOT NULL);
INSERT INTO logminer.setting VALUES
  ('granularity', '1'),
  ('archiver', 'on'),
  ('time_zone', current_setting('TimeZone')),
  ('offset', '+08:00'),
  ('ddl', 'off'),
  ('lob', 'inline'),
  ('undo_form', 'compensating'),
  ('row_order', 'log'),
  ('dictionary', 'written'),
  ('dropped_column', 'render'),
  ('renamed', 'render'),
  ('modified_column', 'render'),
  ('dropped_table', 'vanish'),
  ('virtual_column', 'written'),
  ('partition_rows', 'root'),
  ('serve', 'log'),
  ('case_sensitive', :'case_sensitive');

CREATE FUNCTION logminer.setting(wanted text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer
AS $$ SELECT value FROM logminer.setting WHERE name = wanted $$;

-- What V$DM_INI shows; a lever too.
CREATE TABLE logminer.ini (
  para_name text PRIMARY KEY, para_value text, min_value text, max_value text, default_value text,
  description text, para_type text NOT NULL DEFAULT 'SYS');
INSERT INTO logminer.ini VALUES
  ('ARCH_INI', '1', '0', '1', '0', 'dmarch.ini', 'SYS'),
  ('RLOG_APPEND_LOGIC', '2', '0', '4', '0', 'Type of logic records in redo logs', 'SYS'),
  ('RLOG_APPEND_SYSTAB_LOGIC', '0', '0', '2', '0', 'logic records of system tables', 'SYS'),
  ('RLOG_IGNORE_TABLE_SET', '1', '0', '1', '1', 'Whether to ignore table set when appending logic records', 'SYS'),
  ('LOGMNR_GEN_UNDO', '0', '0', '1', '0', 'whether to generate SQL_UNDO', 'SYS'),
  ('LOGMNR_PARSE_LOB', '0', '0', '1', '0', 'whether to parse LOB logic log', 'SYS'),
  ('LOGMNR_DELAY_ANALYZE', '0', '0', '1', '0', 'whether to delay the analysis', 'SYS'),
  ('COMPATIBLE_MODE', '0', '0', '8', '0', 'Server compatible mode', 'IN FILE'),
  ('ENABLE_MONITOR', '1', '0', '1', '1', 'Whether to enable monitor', 'SYS'),
  ('ENABLE_FLASHBACK', '0', '0', '1', '0', 'Whether to enable flashback function', 'SYS'),
  ('UNDO_RETENTION', '90', '0', '86400', '90', 'Maximum retention time in seconds for undo pages', 'SYS'),
  ('DDL_AUTO_COMMIT', '1', '0', '1', '1', 'ddl auto commit', 'IN FILE'),
  ('LOB_MAX_INROW_LEN', '900', '900', '10240', '900', 'Maximum lob data inrow len', 'IN FILE'),
  ('INSTANCE_NAME', 'DMSERVER', NULL, NULL, 'DMSERVER', 'Instance name', 'READ ONLY'),
  ('PORT_NUM', current_setting('port'), '1024', '65534', '5236', 'Port number', 'READ ONLY');

CREATE FUNCTION logminer.ini(wanted text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, logminer
AS $$ SELECT para_value FROM logminer.ini WHERE para_name = wanted $$;

-- A database made without regard to case (dminit's CASE_SENSITIVE = 0) compares names and texts without it.
CREATE COLLATION logminer.ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- A directory of files beside the log: what mining remembers must not go into the log it reads.
COPY (SELECT) TO PROGRAM 'cat >/dev/null; mkdir -p logminer';

SELECT format('CREATE ROLE "TIDEMARK" LOGIN%s',
  CASE WHEN :'tidemark_password' <> '' THEN format(' PASSWORD %L', :'tidemark_password') ELSE '' END)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'TIDEMARK') \gexec

SELECT format('ALTER DATABASE %I SET search_path = "$user", public, "SYS"', current_database()) \gexec
SET search_path = "$user", public, "SYS";

-- DM's type names that PostgreSQL lacks and that take no length.
CREATE DOMAIN "SYS".tinyint AS smallint CHECK (VALUE BETWEEN -128 AND 127);
CREATE DOMAIN "SYS".double AS double precision;
CREATE DOMAIN "SYS".clob AS text;
CREATE DOMAIN "SYS".blob AS bytea;
CREATE DOMAIN "SYS".datetime AS timestamp(6);
CREATE DOMAIN "SYS".varbinary AS bytea;
-- VARCHAR2 compares as the database was made: CASE_SENSITIVE = 0 without case (in lower case, as the vendor's community
-- saw), BLANK_PAD_MODE = 0 without blanks at the end (which are stored). PostgreSQL's own VARCHAR cannot be told to.
CREATE DOMAIN "SYS".varchar2 AS :text_base;
-- A BIT is a number.
CREATE FUNCTION "SYS".bit_eq(a boolean, b integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT a::integer = b $$;
CREATE FUNCTION "SYS".bit_lt(a boolean, b integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT a::integer < b $$;
CREATE FUNCTION "SYS".bit_gt(a boolean, b integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT a::integer > b $$;
CREATE FUNCTION "SYS".bit_ge(a boolean, b integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT a::integer >= b $$;
CREATE FUNCTION "SYS".bit_le(a boolean, b integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT a::integer <= b $$;
CREATE OPERATOR "SYS".<= (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = "SYS".bit_le);
CREATE OPERATOR "SYS".= (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = "SYS".bit_eq);
CREATE OPERATOR "SYS".< (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = "SYS".bit_lt);
CREATE OPERATOR "SYS".> (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = "SYS".bit_gt);
CREATE OPERATOR "SYS".>= (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = "SYS".bit_ge);

CREATE FUNCTION "SYS".sf_get_case_sensitive_flag() RETURNS integer LANGUAGE sql STABLE AS $$ SELECT logminer.setting('case_sensitive')::integer $$;
CREATE FUNCTION "SYS".sf_get_unicode_flag() RETURNS integer LANGUAGE sql STABLE AS $$ SELECT (getdatabaseencoding() = 'UTF8')::integer $$;
CREATE FUNCTION "SYS".case_sensitive() RETURNS integer LANGUAGE sql STABLE AS $$ SELECT logminer.setting('case_sensitive')::integer $$;
CREATE FUNCTION "SYS".unicode() RETURNS integer LANGUAGE sql STABLE AS $$ SELECT (getdatabaseencoding() = 'UTF8')::integer $$;
CREATE VIEW "SYS".dual AS SELECT 'X'::varchar(1) AS "DUMMY";
CREATE VIEW "SYS"."DUAL" AS SELECT 'X'::varchar(1) AS "DUMMY";
