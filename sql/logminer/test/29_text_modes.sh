# How texts compare is decided when a database is made: CASE_SENSITIVE = 0 without case (vendor's community: in lower case), BLANK_PAD_MODE = 0, the
# default, without blanks at their end, which are stored all the same (vendor's community), CHARSET = 0 by their bytes in GB18030. VARCHAR2 does so here.
set -eu
work=$(mktemp -d /tmp/stand-in-text.XXXXXX); chmod 755 "$work"
trap '"$STAND_IN" stop "$work/case"; "$STAND_IN" stop "$work/blanks"; rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export PGCLIENTENCODING=UTF8
on() { psql -X -q -v ON_ERROR_STOP=1 -v VERBOSITY=terse -o /dev/null "$1" "${@:2}"; }

case_url=$(CASE_SENSITIVE=0 WATCH_PID=$$ "$STAND_IN" start "$work/case" 0 | sed -n 's/^PSQL=//p')
on "$case_url" -f "$here/kit.sql"
on "$case_url" <<'SQL'
CREATE SCHEMA "S"; CREATE TABLE "S"."T"("K" VARCHAR2 PRIMARY KEY);
INSERT INTO "S"."T" VALUES ('b'), ('_'), ('A'), ('C');
SELECT kit.same((SELECT string_agg("K"::text, '' ORDER BY "K") FROM "S"."T"), '_AbC', 'order');
SELECT kit.same((SELECT "K"::text FROM "S"."T" WHERE "K" = 'B'), 'b', 'equality');
SELECT kit.check(kit.outcome($$INSERT INTO "S"."T" VALUES ('a')$$) LIKE '%duplicate key%', 'unique');
SQL

blanks_url=$(BLANK_PAD_MODE=0 ENCODING=EUC_CN WATCH_PID=$$ "$STAND_IN" start "$work/blanks" 0 | sed -n 's/^PSQL=//p')
on "$blanks_url" -f "$here/kit.sql"
on "$blanks_url" <<'SQL'
SELECT kit.same(SF_GET_UNICODE_FLAG() + UNICODE(), 0, 'flags');
SELECT kit.here() AS low \gset
CREATE SCHEMA "S"; CREATE TABLE "S"."T"("K" VARCHAR2 PRIMARY KEY);
INSERT INTO "S"."T" VALUES ('一'), ('阿 '), ('a  ');
SELECT kit.same((SELECT string_agg(rtrim("K"), '' ORDER BY "K") FROM "S"."T"), 'a阿一', 'order');
SELECT kit.same((SELECT octet_length("K")::int FROM "S"."T" WHERE "K" = 'a'), 3, 'equality, and the blanks are there');
SELECT kit.check(kit.outcome($$INSERT INTO "S"."T" VALUES ('阿')$$) LIKE '%duplicate key%', 'unique');
SELECT kit.same((SELECT "SQL_REDO"::text FROM kit.mine(:low) WHERE "TABLE_NAME" = 'T' AND "OPERATION_CODE" = 1 AND "SQL_REDO" LIKE '%a%'), 'INSERT INTO "S"."T"("K") VALUES(''a  '')', 'blanks in the log');
SQL
