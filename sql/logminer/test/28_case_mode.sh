# A database made without regard to case (dminit's CASE_SENSITIVE = 0): names stay as typed and are compared without case (vendor's community:
# so is text). The dictionary and the names in the log do so here.
set -eu
work=$(mktemp -d /tmp/stand-in-case.XXXXXX); chmod 755 "$work"
trap '"$STAND_IN" stop "$work/db"; rm -rf "$work"' EXIT
url=$(CASE_SENSITIVE=0 WATCH_PID=$$ "$STAND_IN" start "$work/db" 0 | sed -n 's/^PSQL=//p')
here=$(cd "$(dirname "$0")" && pwd)
psql -X -q -v ON_ERROR_STOP=1 -o /dev/null "$url" -f "$here/kit.sql"
psql -X -q -v ON_ERROR_STOP=1 -v VERBOSITY=terse -o /dev/null "$url" <<'SQL'
SELECT kit.same(SF_GET_CASE_SENSITIVE_FLAG() + CASE_SENSITIVE(), 0, 'flags');
SELECT kit.here() AS low \gset
CREATE SCHEMA "Shop"; CREATE TABLE "Shop"."Order"("Id" int PRIMARY KEY, "Amount" int);
INSERT INTO "Shop"."Order" VALUES (1, 2);
SELECT kit.same((SELECT string_agg("OWNER" || '.' || "TABLE_NAME" || '.' || "COLUMN_NAME", ' ') FROM "ALL_TAB_COLUMNS" WHERE "OWNER" = 'SHOP' AND "TABLE_NAME" = 'order' AND "COLUMN_NAME" = 'ID'),
  'Shop.Order.Id', 'as typed, found without case');
SELECT kit.same((SELECT string_agg("COLUMN_NAME", ' ') FROM "ALL_CONSTRAINTS" JOIN "ALL_CONS_COLUMNS" USING ("OWNER", "CONSTRAINT_NAME", "TABLE_NAME") WHERE "OWNER" = 'shop' AND "TABLE_NAME" = 'ORDER'), 'Id', 'keys');
SELECT kit.same((SELECT string_agg(t."NAME", ' ') FROM "SYSOBJECTS" s JOIN "SYSOBJECTS" t ON t."SCHID" = s."ID" WHERE s."NAME" = 'SHOP' AND t."NAME" = 'ORDER'), 'Order', 'SYSOBJECTS');
SELECT kit.same((SELECT "SQL_REDO"::text FROM kit.mine(:low) WHERE "SEG_OWNER" = 'SHOP' AND "TABLE_NAME" = 'ORDER' AND "OPERATION_CODE" = 1), 'INSERT INTO "Shop"."Order"("Id", "Amount") VALUES(1, 2)', 'the log''s names');
SQL
