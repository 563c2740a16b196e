-- Records of any kind by lever: every operation code of the manual, STATUS, CSF pieces, texts; and contents served from a table.
CREATE SCHEMA "CRAFT";
CREATE TABLE "CRAFT"."T"("ID" int PRIMARY KEY);
SELECT kit.here() AS low \gset
SELECT logminer.append(6, xid => 4000000001) \g /dev/null
SELECT logminer.append(1, 'INSERT INTO "CRAFT"."T"("ID") VALUES(1', 'CRAFT', 'T', csf => 1, xid => 4000000001) \g /dev/null
SELECT logminer.append(1, ')', 'CRAFT', 'T', ssn => 1, xid => 4000000001) \g /dev/null
SELECT logminer.append(2, repeat('x', 4100), 'CRAFT', 'T', status => 1343, roll_back => 1, row_id => 'AAAB', xid => 4000000001) AS at \gset
SELECT logminer.append(op, 'text', 'CRAFT', 'T', xid => 4000000001) FROM unnest(ARRAY[4, 13, 14, 37, 255, 99]) op \g /dev/null
SELECT logminer.append(7, xid => 4000000001) \g /dev/null
SELECT kit.same((SELECT string_agg(concat_ws(' ', "OPERATION_CODE", "OPERATION", "ROLL_BACK", "SSN", "CSF", "STATUS", left("SQL_REDO", 40)), E'\n')
  FROM (SELECT * FROM kit.mine(:low) WHERE "XID" = int8send(4000000001)) m), $$6 START 0 0 0 0
1 INSERT 0 0 1 0 INSERT INTO "CRAFT"."T"("ID") VALUES(1
1 INSERT 0 1 0 0 )
2 DELETE 1 0 0 1343 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
4 BATCH_UPDATE 0 0 0 0 text
13 LOB_NEW 0 0 0 0 text
14 LOB_DATA 0 0 0 0 text
37 SEQ MODIFY 0 0 0 0 text
255 UNSUPPORTED 0 0 0 0 text
99 UNSUPPORTED 0 0 0 0 text
7 COMMIT 0 0 0 0 $$, 'as given');
SELECT kit.check("SCN" BETWEEN :low AND :at AND "SEG_OWNER" = 'CRAFT' AND "ROW_ID" = 'AAAB', 'where it says') FROM kit.mine(:low) WHERE "STATUS" = 1343;
SELECT kit.same((SELECT count(*) FROM kit.mine(:at) WHERE "STATUS" = 1343), 0::bigint, 'before the position given');
SELECT kit.same((SELECT count(*) FROM kit.mine(:low, options => 2130) WHERE "XID" = int8send(4000000001)), 11::bigint, 'committed');
-- In a transaction of its own: among its changes, gone with them under COMMITTED_DATA_ONLY.
SELECT kit.here() AS low \gset
BEGIN; INSERT INTO "CRAFT"."T" VALUES (5); SELECT logminer.append(255, 'odd', 'CRAFT', 'T') \g /dev/null
COMMIT;
BEGIN; SELECT logminer.append(255, 'gone', 'CRAFT', 'T') \g /dev/null
ROLLBACK;
SELECT kit.same(kit.story('CRAFT', :low), E't1 START\nt1 INSERT INSERT INTO "CRAFT"."T"("ID") VALUES(5)\nt1 UNSUPPORTED odd\nt1 COMMIT\nt2 START\nt2 UNSUPPORTED gone\nt2 ROLLBACK', 'in its transaction');
SELECT kit.same((SELECT count(*) FROM kit.mine(:low, options => 2130) WHERE "SQL_REDO" = 'gone'), 0::bigint, 'rolled back with it');

-- Served from a table: what was mined, in its order, without reading the log; windows and the session's errors as ever.
INSERT INTO "CRAFT"."T" SELECT g FROM generate_series(100, 400) g;
SELECT kit.here() AS high \gset
CREATE TEMP TABLE live AS SELECT row_number() OVER () AS n, m::text AS line FROM kit.mine(:low, :high) m;
CALL logminer.prepare(:low, :high);
UPDATE logminer.setting SET value = 'prepared' WHERE name = 'serve';
INSERT INTO "CRAFT"."T" VALUES (1000);
SELECT kit.check((SELECT array_agg(line ORDER BY n) FROM live) = (SELECT array_agg(m::text) FROM kit.mine(:low) m), 'the same rows in the same order');
SELECT "SCN" AS one FROM kit.mine(:low) WHERE "SQL_REDO" LIKE '%(250)' \gset
SELECT kit.same((SELECT string_agg("SQL_REDO", '|') FROM kit.mine(:one, :one)), 'INSERT INTO "CRAFT"."T"("ID") VALUES(250)', 'windows');
SELECT kit.same(kit.outcome('SELECT count(*) FROM "V$LOGMNR_CONTENTS"'), '[-2844] dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents', 'not started');
INSERT INTO logminer.prepared ("SCN") VALUES (:low + 1000 * logminer.segment_size());
SELECT kit.check(NOT EXISTS (SELECT FROM kit.mine(:low) WHERE "SCN" > :high), 'in a file that is not there');
UPDATE logminer.setting SET value = 'log' WHERE name = 'serve';
SELECT kit.check(count(*) > (SELECT count(*) FROM live), 'the log again') FROM kit.mine(:low);
TRUNCATE logminer.prepared;
