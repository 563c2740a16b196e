-- Sample tables of the playground, for the stand-in and for PostgreSQL alike.
CREATE SCHEMA "BIZ";
CREATE TABLE "BIZ"."CUSTOMERS" ("ID" BIGINT PRIMARY KEY, "NAME" VARCHAR(40) NOT NULL, "CITY" VARCHAR(40));
CREATE TABLE "BIZ"."ORDERS" ("ID" BIGINT PRIMARY KEY, "CUSTOMER" BIGINT NOT NULL, "AMOUNT" DECIMAL(12,2), "NOTE" VARCHAR(200),
  "CHANGED" TIMESTAMP(6));
INSERT INTO "BIZ"."CUSTOMERS"
  SELECT n, 'customer ' || n, (ARRAY['Wuhan', 'Beijing', 'Shanghai', 'Chengdu', 'Lyon'])[n % 5 + 1] FROM generate_series(1, 20) n;
INSERT INTO "BIZ"."ORDERS"
  SELECT n, n % 20 + 1, (n * 7919 % 100000) / 100.0, 'order ' || n, TIMESTAMP '2026-01-01 00:00:00' + n * INTERVAL '1 minute'
  FROM generate_series(1, 1000) n;
