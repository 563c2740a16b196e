-- What a DM8 server needs before 'connector' = 'dameng-cdc' can capture from it: archive mode, logical logging, the package, a user.
--
-- For the DBA, once, as SYSDBA, with disql:
--
--     disql SYSDBA/password@host:5236
--     SQL> start /path/to/dameng.sql
--
-- Before that: set the password in section 4, and list the captured tables in section 5. Section 1 is in comments: it takes the
-- database out of use for a moment. Sections 2 to 5 change nothing that is open, need no restart, and may be run again; what is there
-- already says so. The connector checks all of this when a job starts, and says in one report everything that is missing.
-- It was written after the manual and after what others measured, and has not been run on a DM8 by its authors (docs/dameng.md).

-- ---------------------------------------------------------------------------------------------------- 1. Archive mode
-- Only where this does not say ARCH_MODE = Y:
SELECT NAME, ARCH_MODE FROM V$DATABASE;

-- It needs the MOUNT state: no session can work meanwhile. Choose the folder and the sizes (MB) first, see section 6.
--
--     ALTER DATABASE MOUNT;
--     ALTER DATABASE ARCHIVELOG;
--     ALTER DATABASE ADD ARCHIVELOG 'DEST=/dm/arch, TYPE=LOCAL, FILE_SIZE=128, SPACE_LIMIT=102400';
--     ALTER DATABASE OPEN;
--
-- Versions differ in the order of the two lines in the middle. Where ADD ARCHIVELOG behind ARCHIVELOG is refused, put it before; where it
-- is refused before it ([-810], no archive is configured), put it behind, as here.

-- ---------------------------------------------------------------------------------------------------- 2. Logical logging
-- Whole rows (2: all columns of every UPDATE and DELETE), of every table (1: not only of those with ADD LOGIC LOG). In memory and in
-- dm.ini, at once. Transactions that are open now may have rows without it: start the first job after they have ended.
SP_SET_PARA_VALUE(1, 'RLOG_APPEND_LOGIC', 2);
SP_SET_PARA_VALUE(1, 'RLOG_IGNORE_TABLE_SET', 1);
SELECT PARA_NAME, PARA_VALUE FROM V$DM_INI WHERE PARA_NAME IN ('ARCH_INI', 'RLOG_APPEND_LOGIC', 'RLOG_IGNORE_TABLE_SET');

-- ---------------------------------------------------------------------------------------------------- 3. The package
SP_CREATE_SYSTEM_PACKAGES(1, 'DBMS_LOGMNR');

-- ---------------------------------------------------------------------------------------------------- 4. The user
-- These rights and no more. The views ALL_TABLES, ALL_TAB_COLUMNS, ALL_CONSTRAINTS and ALL_CONS_COLUMNS, which are read too, are open to
-- every user and show to each what it may read.
-- Mining shows the changes of every table, also of those that the user may not select from: treat the password so.
CREATE USER TIDEMARK IDENTIFIED BY "Change_me_1";
GRANT CREATE SESSION TO TIDEMARK;
GRANT EXECUTE ON SYS.DBMS_LOGMNR TO TIDEMARK;
-- The log, its files and its end.
GRANT SELECT ON SYS.V$LOGMNR_CONTENTS TO TIDEMARK;
GRANT SELECT ON SYS.V$ARCH_FILE TO TIDEMARK;
GRANT SELECT ON SYS.V$RLOG TO TIDEMARK;
-- The open transactions: a snapshot has to know which commits it could not see yet.
GRANT SELECT ON SYS.V$TRX TO TIDEMARK;
-- The settings of sections 1 and 2, and the database's name.
GRANT SELECT ON SYS.V$DM_INI TO TIDEMARK;
GRANT SELECT ON SYS.V$DATABASE TO TIDEMARK;
-- The dictionary: the tables with the numbers that the log has them by, their virtual columns, their partitions.
GRANT SELECT ON SYS.SYSOBJECTS TO TIDEMARK;
GRANT SELECT ON SYS.SYSCOLUMNS TO TIDEMARK;
GRANT SELECT ON SYS.SYSCOLINFOS TO TIDEMARK;
GRANT SELECT ON SYS.SYSHPARTTABLEINFO TO TIDEMARK;
-- Which place the log had at which time.
GRANT SELECT ON SYS.V$LSN_TIME TO TIDEMARK;   -- only for scan.startup.mode = 'timestamp'

-- ---------------------------------------------------------------------------------------------------- 5. The captured tables
-- One line each, for the snapshot and for large values that are read back:
--
--     GRANT SELECT ON BIZ.ORDERS TO TIDEMARK;

-- ---------------------------------------------------------------------------------------------------- 6. Retention
-- A job that was down goes on where its newest checkpoint says, from the archives; if they are gone by then, it fails (TM-3001) and has
-- to begin anew with a snapshot. So keep archives for the longest time that a job may be down, and for the longest transaction besides:
-- the log from the beginning of the oldest open one on is always needed, and a snapshot needs it from its own beginning on.
--   SPACE_LIMIT        (MB, 0: no limit, else 1024 at least) the server deletes the oldest archives beyond it. Take the archive volume of the
--                      busiest such time, with section 2 in force: it makes the log larger, in one published measurement twice as large.
--   ARCH_RESERVE_TIME  (minutes, dmarch.ini, 0: no limit) archives older than this are deleted, however few they are.
-- Whichever comes first deletes; SF_ARCHIVELOG_DELETE_BEFORE_TIME in a backup job does too. While a job runs, its metric
-- archiveHeadroomBytes says how much the server may still delete before a restart is no longer possible (docs/operations.md).
-- The limits in force, and what is kept now:
SELECT ARCH_NAME, ARCH_TYPE, ARCH_DEST, ARCH_FILE_SIZE, ARCH_SPACE_LIMIT, ARCH_RESERVE_TIME FROM V$DM_ARCH_INI;
SELECT COUNT(*), MIN(CREATE_TIME), MIN(ARCH_LSN), SUM(FREE) / 1048576 AS MB FROM V$ARCH_FILE;
