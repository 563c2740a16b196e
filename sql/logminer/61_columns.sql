-- Columns as DM8's own system tables have them. SYSCOLINFOS.INFO1: bit 0 a virtual column, bit 3 a DATE as Oracle's.
CREATE VIEW "SYS"."SYSCOLUMNS" AS
SELECT a.attname::varchar(128) :name_collation AS "NAME", t.table_oid::integer AS "ID",
       ((row_number() OVER (PARTITION BY t.table_oid ORDER BY a.attnum)) - 1)::smallint AS "COLID",
       logminer.type_name(a.atttypid)::varchar(128) AS "TYPE$", (CASE WHEN a.attnotnull THEN 'N' ELSE 'Y' END)::varchar(1) AS "NULLABLE$",
       (a.attidentity <> '')::integer::smallint AS "INFO2"
FROM logminer.user_tables() t JOIN pg_attribute a ON a.attrelid = t.table_oid AND a.attnum > 0 AND NOT a.attisdropped;

-- Columns of which there is nothing to say have no row.
CREATE VIEW "SYS"."SYSCOLINFOS" AS
SELECT "ID", "COLID", "INFO1" FROM (
  SELECT a.attrelid::integer AS "ID", (row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) - 1)::smallint AS "COLID",
         ((a.attgenerated <> '')::integer + CASE WHEN a.atttypid = '"SYS".date_with_time'::regtype THEN 8 ELSE 0 END)::integer AS "INFO1"
  FROM logminer.user_tables() t JOIN pg_attribute a ON a.attrelid = t.table_oid AND a.attnum > 0 AND NOT a.attisdropped) i
WHERE "INFO1" <> 0;
