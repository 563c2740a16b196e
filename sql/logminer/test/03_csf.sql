-- Texts over 4,000 bytes come in pieces: same SCN, SSN 0, 1, …, CSF 1, …, 0 (measured on DM8). That a piece never ends inside a
-- character is this stand-in's limit, not DM8's habit.
CREATE SCHEMA "CSF";
CREATE TABLE "CSF"."T"("A" clob);
SELECT length('INSERT INTO "CSF"."T"("A") VALUES('''')') AS frame \gset
SELECT kit.here() AS low \gset
INSERT INTO "CSF"."T" SELECT repeat('x', n - :frame) FROM unnest(ARRAY[3999, 4000, 4001, 8000, 8001]) n;
INSERT INTO "CSF"."T" SELECT repeat('x', p) || repeat('字', 3000) || '😀' FROM generate_series(0, 3) p;
SELECT kit.same((SELECT string_agg(pieces, ' ' ORDER BY scn) FROM (
    SELECT "SCN" AS scn, string_agg("SSN" || ':' || "CSF" || ':' || octet_length("SQL_REDO"), ',' ORDER BY "SSN") AS pieces
    FROM kit.mine(:low) WHERE "TABLE_NAME" = 'T' GROUP BY "SCN" LIMIT 5) p),
  '0:0:3999 0:0:4000 0:1:4000,1:0:1 0:1:4000,1:0:4000 0:1:4000,1:1:4000,2:0:1', 'pieces of 3999 to 8001 bytes');
SELECT kit.check(bool_and(whole = format('INSERT INTO "CSF"."T"("A") VALUES(%L)', a)) AND count(*) = 9, 'the pieces in row order are the text')
FROM (SELECT row_number() OVER (ORDER BY scn) AS n, whole FROM (
        SELECT "SCN" AS scn, string_agg("SQL_REDO", '') AS whole FROM kit.mine(:low) WHERE "TABLE_NAME" = 'T' GROUP BY "SCN") x) w
JOIN (SELECT row_number() OVER (ORDER BY ctid) AS n, "A" AS a FROM "CSF"."T") t USING (n);
SELECT kit.check(max(octet_length("SQL_REDO")) = 4000 AND min(octet_length("SQL_REDO")) FILTER (WHERE "CSF" = 1) >= 3997, 'pieces are as long as can be')
FROM kit.mine(:low) WHERE "TABLE_NAME" = 'T' AND "CSF" = 1;
-- Rows stay in order, each text's pieces one after the other.
SELECT kit.check(bool_and(ssn = CASE WHEN csf_before = 1 THEN ssn_before + 1 ELSE 0 END), 'pieces stand together')
FROM (SELECT "SSN" AS ssn, lag("CSF", 1, 0) OVER () AS csf_before, lag("SSN") OVER () AS ssn_before FROM kit.mine(:low)) r;
