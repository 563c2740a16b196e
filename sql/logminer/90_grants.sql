-- What the connector's user needs on DM8, and no more: CREATE SESSION, EXECUTE ON SYS.DBMS_LOGMNR, SELECT on the views,
-- SELECT ANY TABLE. The trigger functions run as whoever writes.
REVOKE ALL ON ALL TABLES IN SCHEMA logminer FROM PUBLIC;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA logminer FROM PUBLIC;
GRANT USAGE ON SCHEMA logminer, "SYS" TO PUBLIC;
GRANT EXECUTE ON FUNCTION logminer.begin_transaction(text), logminer.signed(bigint), logminer.bytes(pg_lsn), logminer.row_id(text),
  logminer.scientific(text), logminer.interval_literal(interval, text), logminer.offset_text(integer), logminer.lob_id(text), logminer.lob_id(bytea) TO PUBLIC;
GRANT USAGE ON SCHEMA dbms_logmnr TO "TIDEMARK";
REVOKE EXECUTE ON ALL PROCEDURES IN SCHEMA dbms_logmnr FROM PUBLIC;
GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA dbms_logmnr TO "TIDEMARK";
GRANT SELECT ON ALL TABLES IN SCHEMA "SYS" TO "TIDEMARK";
GRANT EXECUTE ON FUNCTION logminer.contents(), logminer.pieces(bytea), logminer.archives(), logminer.rlog(), logminer.magic(),
  logminer.transactions(), logminer.last_checkpoint(), logminer.scn(pg_lsn, bigint), logminer.granularity(), logminer.segment_size(),
  logminer.setting(text), logminer.session_get(), logminer.segments(), logminer.archived(),
  logminer.user_tables(), logminer.is_system_schema(text), logminer.is_internal_schema(text), logminer.type_name(oid), logminer.base_type(oid), logminer.interval_fields(oid),
  logminer.readable(text, text), logminer.served(), logminer.ini(text), logminer.archive_directory(), logminer.lsn_times() TO "TIDEMARK";
REVOKE EXECUTE ON ALL PROCEDURES IN SCHEMA "SYS" FROM PUBLIC;
GRANT pg_read_all_data TO "TIDEMARK";

-- The install's own records end here: the first archive is a finished one.
SELECT pg_switch_wal() \g /dev/null
