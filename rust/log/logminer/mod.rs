//! The LogMiner implementation of the log reader (Dameng, Oracle).
