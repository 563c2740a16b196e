-- The dictionary, with DM8's type names. A user sees the tables that it may read.

-- DM's name of a column's type: the domain's own name for the domains in SYS, else after the base type.
CREATE FUNCTION logminer.type_name(type_oid oid) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN t.typtype = 'd' AND t.typnamespace = '"SYS"'::regnamespace THEN
      CASE t.typname WHEN 'datetime' THEN 'TIMESTAMP' WHEN 'date_with_time' THEN 'DATE' WHEN 'decimal_float' THEN 'FLOAT'
        WHEN 'timestamp_local' THEN 'TIMESTAMP WITH LOCAL TIME ZONE' ELSE coalesce('INTERVAL ' || logminer.interval_fields(t.oid), upper(t.typname)) END
    ELSE CASE logminer.base_type(type_oid)::regtype
      WHEN 'smallint'::regtype THEN 'SMALLINT' WHEN 'integer'::regtype THEN 'INT' WHEN 'bigint'::regtype THEN 'BIGINT'
      WHEN 'numeric'::regtype THEN 'DECIMAL' WHEN 'real'::regtype THEN 'REAL' WHEN 'double precision'::regtype THEN 'DOUBLE'
      WHEN 'boolean'::regtype THEN 'BIT' WHEN 'bit'::regtype THEN 'BIT' WHEN 'bpchar'::regtype THEN 'CHAR'
      WHEN 'varchar'::regtype THEN 'VARCHAR' WHEN 'text'::regtype THEN 'CLOB' WHEN 'bytea'::regtype THEN 'BLOB'
      WHEN 'date'::regtype THEN 'DATE' WHEN 'time'::regtype THEN 'TIME' WHEN 'timetz'::regtype THEN 'TIME WITH TIME ZONE'
      WHEN 'timestamp'::regtype THEN 'TIMESTAMP' WHEN 'timestamptz'::regtype THEN 'TIMESTAMP WITH TIME ZONE'
      ELSE upper(t.typname) END
    END
  FROM pg_type t WHERE t.oid = type_oid
$$;

-- The tables shown: user tables (the root of a partitioned one, not its parts). An UNLOGGED table stands for a global temporary one,
-- which lies in a user's schema and leaves nothing in the log.
CREATE FUNCTION logminer.user_tables() RETURNS TABLE (table_oid oid, owner name, table_name name, row_count real, temporary boolean)
LANGUAGE sql STABLE AS $$
  SELECT c.oid, n.nspname, c.relname, c.reltuples, c.relpersistence <> 'p'
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT logminer.is_system_schema(n.nspname)
$$;

CREATE VIEW "SYS"."DBA_TABLES" AS
SELECT t.owner::varchar(128) :name_collation AS "OWNER", t.table_name::varchar(128) :name_collation AS "TABLE_NAME", 'MAIN'::varchar(128) AS "TABLESPACE_NAME",
       'VALID'::varchar(8) AS "STATUS", greatest(t.row_count, 0)::bigint AS "NUM_ROWS",
       (CASE WHEN t.temporary THEN 'Y' ELSE 'N' END)::varchar(1) AS "TEMPORARY",
       (CASE WHEN c.relkind = 'p' THEN 'YES' ELSE 'NO' END)::varchar(3) AS "PARTITIONED"
FROM logminer.user_tables() t JOIN pg_class c ON c.oid = t.table_oid;

CREATE VIEW "SYS"."DBA_TAB_COLUMNS" AS
SELECT t.owner::varchar(128) :name_collation AS "OWNER", t.table_name::varchar(128) :name_collation AS "TABLE_NAME", a.attname::varchar(128) :name_collation AS "COLUMN_NAME",
       y.type_name::varchar(128) AS "DATA_TYPE", NULL::varchar(3) AS "DATA_TYPE_MOD", NULL::varchar(128) AS "DATA_TYPE_OWNER",
       (CASE
          WHEN y.type_name IN ('CHAR', 'VARCHAR', 'VARCHAR2') THEN CASE WHEN m.typmod > 4 THEN m.typmod - 4 ELSE 8188 END
          WHEN y.type_name IN ('CLOB', 'BLOB') THEN 2147483647
          WHEN y.type_name = 'VARBINARY' THEN 8188
          WHEN y.type_name = 'TINYINT' OR y.type_name = 'BIT' THEN 1
          WHEN y.type_name = 'DECIMAL' THEN CASE WHEN m.typmod > 4 THEN (m.typmod - 4) >> 16 ELSE 0 END
          WHEN y.type_name = 'DATE' THEN 3 WHEN y.type_name = 'TIME' THEN 5 WHEN y.type_name = 'TIMESTAMP' THEN 8
          WHEN y.type_name = 'TIMESTAMP WITH TIME ZONE' THEN 10 WHEN y.type_name = 'TIME WITH TIME ZONE' THEN 7
          ELSE a.attlen END)::integer AS "DATA_LENGTH",
       (CASE y.type_name
          WHEN 'DECIMAL' THEN CASE WHEN m.typmod > 4 THEN (m.typmod - 4) >> 16 ELSE 0 END
          WHEN 'TINYINT' THEN 3 WHEN 'SMALLINT' THEN 5 WHEN 'INT' THEN 10 WHEN 'BIGINT' THEN 19
          WHEN 'REAL' THEN 24 WHEN 'DOUBLE' THEN 53 WHEN 'FLOAT' THEN 126 END)::integer AS "DATA_PRECISION",
       (CASE
          -- Eleven bits and a sign.
          WHEN y.type_name = 'DECIMAL' THEN CASE WHEN m.typmod > 4 THEN (((m.typmod - 4) & 2047) # 1024) - 1024 ELSE 0 END
          WHEN y.type_name = 'FLOAT' THEN 129 WHEN y.type_name = 'DATETIME2' THEN 9 WHEN y.type_name = 'TIMESTAMP WITH LOCAL TIME ZONE' THEN 4096 + 6
          WHEN y.type_name IN ('TINYINT', 'SMALLINT', 'INT', 'BIGINT') THEN 0
          WHEN y.type_name IN ('TIME', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE', 'TIME WITH TIME ZONE')
            THEN CASE WHEN m.typmod >= 0 THEN m.typmod ELSE 6 END END)::integer AS "DATA_SCALE",
       (CASE WHEN a.attnotnull THEN 'N' ELSE 'Y' END)::varchar(1) AS "NULLABLE",
       -- By the names, so that where a table is asked for others are not looked at.
       (row_number() OVER (PARTITION BY t.owner::varchar(128) :name_collation, t.table_name::varchar(128) :name_collation ORDER BY a.attnum))::integer AS "COLUMN_ID",
       length(pg_get_expr(d.adbin, d.adrelid)) AS "DEFAULT_LENGTH", pg_get_expr(d.adbin, d.adrelid)::varchar(8188) AS "DATA_DEFAULT",
       (CASE WHEN y.type_name IN ('CHAR', 'VARCHAR') AND m.typmod > 4 THEN m.typmod - 4 ELSE 0 END)::integer AS "CHAR_LENGTH",
       (CASE WHEN y.type_name IN ('CHAR', 'VARCHAR') THEN 'C' END)::varchar(1) AS "CHAR_USED"
FROM logminer.user_tables() t
JOIN pg_attribute a ON a.attrelid = t.table_oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type p ON p.oid = a.atttypid
-- Asked once a column: without the OFFSET it is asked in every place that has it, which takes milliseconds a row.
CROSS JOIN LATERAL (SELECT logminer.type_name(a.atttypid) AS type_name OFFSET 0) y
CROSS JOIN LATERAL (SELECT CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE p.typtypmod END AS typmod) m
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum;

CREATE VIEW "SYS"."DBA_CONSTRAINTS" AS
SELECT t.owner::varchar(128) :name_collation AS "OWNER", k.conname::varchar(128) :name_collation AS "CONSTRAINT_NAME",
       (CASE k.contype WHEN 'p' THEN 'P' WHEN 'u' THEN 'U' WHEN 'f' THEN 'R' WHEN 'c' THEN 'C' END)::varchar(1) AS "CONSTRAINT_TYPE",
       t.table_name::varchar(128) :name_collation AS "TABLE_NAME", NULL::varchar(8188) AS "SEARCH_CONDITION",
       rn.nspname::varchar(128) :name_collation AS "R_OWNER", r.conname::varchar(128) :name_collation AS "R_CONSTRAINT_NAME",
       'ENABLED'::varchar(8) AS "STATUS", (CASE WHEN k.convalidated THEN 'VALIDATED' ELSE 'NOT VALIDATED' END)::varchar(13) AS "VALIDATED",
       t.owner::varchar(128) :name_collation AS "INDEX_OWNER", i.relname::varchar(128) :name_collation AS "INDEX_NAME"
FROM logminer.user_tables() t
JOIN pg_constraint k ON k.conrelid = t.table_oid AND k.contype IN ('p', 'u', 'f', 'c')
LEFT JOIN pg_class i ON i.oid = k.conindid AND k.contype IN ('p', 'u')
LEFT JOIN pg_constraint r ON k.contype = 'f' AND r.conrelid = k.confrelid AND r.conindid = k.conindid AND r.contype IN ('p', 'u')
LEFT JOIN pg_namespace rn ON rn.oid = r.connamespace;

CREATE VIEW "SYS"."DBA_CONS_COLUMNS" AS
SELECT t.owner::varchar(128) :name_collation AS "OWNER", k.conname::varchar(128) :name_collation AS "CONSTRAINT_NAME", t.table_name::varchar(128) :name_collation AS "TABLE_NAME",
       a.attname::varchar(128) :name_collation AS "COLUMN_NAME", c.place::integer AS "POSITION"
FROM logminer.user_tables() t
JOIN pg_constraint k ON k.conrelid = t.table_oid AND k.contype IN ('p', 'u', 'f')
CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY c(attnum, place)
JOIN pg_attribute a ON a.attrelid = t.table_oid AND a.attnum = c.attnum;

CREATE VIEW "SYS"."DBA_INDEXES" AS
SELECT t.owner::varchar(128) :name_collation AS "OWNER", i.relname::varchar(128) :name_collation AS "INDEX_NAME", 'NORMAL'::varchar(27) AS "INDEX_TYPE",
       t.owner::varchar(128) :name_collation AS "TABLE_OWNER", t.table_name::varchar(128) :name_collation AS "TABLE_NAME", 'TABLE'::varchar(11) AS "TABLE_TYPE",
       (CASE WHEN x.indisunique THEN 'UNIQUE' ELSE 'NONUNIQUE' END)::varchar(9) AS "UNIQUENESS", 'VALID'::varchar(8) AS "STATUS"
FROM logminer.user_tables() t JOIN pg_index x ON x.indrelid = t.table_oid JOIN pg_class i ON i.oid = x.indexrelid;

CREATE VIEW "SYS"."DBA_IND_COLUMNS" AS
SELECT t.owner::varchar(128) :name_collation AS "INDEX_OWNER", i.relname::varchar(128) :name_collation AS "INDEX_NAME", t.owner::varchar(128) :name_collation AS "TABLE_OWNER",
       t.table_name::varchar(128) :name_collation AS "TABLE_NAME", a.attname::varchar(128) :name_collation AS "COLUMN_NAME", c.place::integer AS "COLUMN_POSITION",
       a.attlen::integer AS "COLUMN_LENGTH",
       (CASE WHEN x.indoption[c.place - 1] & 1 = 1 THEN 'DESC' ELSE 'ASC' END)::varchar(4) AS "DESCEND"
FROM logminer.user_tables() t
JOIN pg_index x ON x.indrelid = t.table_oid
JOIN pg_class i ON i.oid = x.indexrelid
CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY c(attnum, place)
JOIN pg_attribute a ON a.attrelid = t.table_oid AND a.attnum = c.attnum
WHERE c.place <= x.indnkeyatts;

-- ALL_: what the user may read; USER_: what lies in the schema of the user's own name.
CREATE FUNCTION logminer.readable(owner text, table_name text) RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT has_table_privilege(format('%I.%I', owner, table_name), 'SELECT') $$;

DO $$
DECLARE
  name text;
  owner_column text;
  user_columns text;
BEGIN
  FOREACH name IN ARRAY ARRAY['TABLES', 'TAB_COLUMNS', 'CONSTRAINTS', 'CONS_COLUMNS', 'INDEXES', 'IND_COLUMNS'] LOOP
    owner_column := CASE name WHEN 'INDEXES' THEN 'TABLE_OWNER' WHEN 'IND_COLUMNS' THEN 'TABLE_OWNER' ELSE 'OWNER' END;
    EXECUTE format('CREATE VIEW "SYS".%I AS SELECT * FROM "SYS".%I WHERE logminer.readable(%I, "TABLE_NAME")',
                   'ALL_' || name, 'DBA_' || name, owner_column);
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO user_columns
    FROM pg_attribute WHERE attrelid = format('"SYS".%I', 'DBA_' || name)::regclass AND attnum > 0
      AND attname NOT IN ('OWNER', 'INDEX_OWNER', 'TABLE_OWNER');
    EXECUTE format('CREATE VIEW "SYS".%I AS SELECT %s FROM "SYS".%I WHERE %I = current_user::text',
                   'USER_' || name, user_columns, 'DBA_' || name, owner_column);
  END LOOP;
END $$;

-- Schemas, user tables and views. A partition is a table of its own (manual). INFO3's bit 51: ADD LOGIC LOG; INFO4's low four bytes
-- hold the table's version.
CREATE VIEW "SYS"."SYSOBJECTS" AS
SELECT n.nspname::varchar(128) :name_collation AS "NAME", n.oid::integer AS "ID", 0 AS "SCHID", 'SCH'::varchar(10) AS "TYPE$",
       NULL::varchar(10) AS "SUBTYPE$", -1 AS "PID", 0::bigint AS "INFO3", 0::bigint AS "INFO4", 'Y'::varchar(1) AS "VALID"
FROM pg_namespace n WHERE NOT logminer.is_internal_schema(n.nspname)
UNION ALL
SELECT c.relname::varchar(128) :name_collation, c.oid::integer, c.relnamespace::integer, 'SCHOBJ', CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'UTAB' END, -1,
       CASE WHEN v.logic_log THEN 1::bigint << 51 ELSE 0 END, coalesce(v.version, 0)::bigint, 'Y'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN logminer.table_version v ON v.table_oid = c.oid
WHERE c.relkind IN ('r', 'p', 'v') AND NOT logminer.is_internal_schema(n.nspname);

-- Which table is whose partition, level by level.
CREATE VIEW "SYS"."SYSHPARTTABLEINFO" AS
SELECT i.inhparent::integer AS "BASE_TABLE_ID", c.oid::integer AS "PART_TABLE_ID",
       (CASE p.partstrat WHEN 'r' THEN 'RANGE' WHEN 'l' THEN 'LIST' WHEN 'h' THEN 'HASH' END)::varchar(10) AS "PARTITION_TYPE",
       c.relname::varchar(128) :name_collation AS "PARTITION_NAME"
FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_partitioned_table p ON p.partrelid = i.inhparent
WHERE c.relispartition AND c.relkind IN ('r', 'p');
