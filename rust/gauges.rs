//! The one table of gauges: what there is and what it means. Names are Flink's where Flink has one for the thing;
//! docs/operations.md is tested against it.

/// A gauge of readers or of the enumerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Its name in Flink's metric group.
    pub name: &'static str,
    /// Who has it.
    pub owner: Owner,
    /// One sentence for the documentation, with the unit.
    pub doc: &'static str,
}

/// Who has a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Each reader, in the metric group of its subtask.
    Reader,
    /// The enumerator, on the JobManager.
    Enumerator,
}

impl Owner {
    /// The word of the documentation.
    pub fn word(self) -> &'static str {
        match self {
            Owner::Reader => "reader",
            Owner::Enumerator => "enumerator",
        }
    }
}

/// The value of a gauge that has nothing to say yet (Flink's `InternalSourceReaderMetricGroup.UNDEFINED`).
pub const UNDEFINED: i64 = -1;

/// [`GAUGES`]
pub const FETCH_LAG: Gauge = Gauge {
    name: "currentFetchEventTimeLag",
    owner: Owner::Reader,
    doc: "Milliseconds from the commit of the newest change read from the log to its reading; -1 before the first one.",
};

/// [`GAUGES`]
pub const SCN: Gauge = Gauge {
    name: "scn",
    owner: Owner::Reader,
    doc: "Up to where the log has been read; 0 until the log phase.",
};

/// [`GAUGES`]
pub const NEXT_SCN: Gauge = Gauge {
    name: "nextScn",
    owner: Owner::Reader,
    doc: "From where a restart would read the log: logs from here on must be kept; 0 until the log phase.",
};

/// [`GAUGES`]
pub const OPEN_TRANSACTIONS: Gauge = Gauge {
    name: "openTransactions",
    owner: Owner::Reader,
    doc: "Transactions, of captured tables or not, whose end has not been read.",
};

/// [`GAUGES`]
pub const OLDEST_TRANSACTION_AGE: Gauge = Gauge {
    name: "oldestTransactionAge",
    owner: Owner::Reader,
    doc: "Milliseconds since the oldest of them began; 0 without one.",
};

/// [`GAUGES`]
pub const OLDEST_TRANSACTION_SCN: Gauge = Gauge {
    name: "oldestTransactionScn",
    owner: Owner::Reader,
    doc: "Where the oldest of them began: the log from there on is kept back by it; 0 without one.",
};

/// [`GAUGES`]
pub const OLDEST_TRANSACTION_LOG: Gauge = Gauge {
    name: "oldestTransactionLogBytes",
    owner: Owner::Reader,
    doc: "Bytes of kept log files from the one on that the oldest of them began in; 0 without one.",
};

/// [`GAUGES`]
pub const BUFFERED_BYTES: Gauge = Gauge {
    name: "bufferedBytes",
    owner: Owner::Reader,
    doc: "Memory that the changes take that are read, but not out.",
};

/// [`GAUGES`]
pub const SPILLED_BYTES: Gauge = Gauge {
    name: "spilledBytes",
    owner: Owner::Reader,
    doc: "Bytes of the files that hold what `transaction.memory` does not.",
};

/// [`GAUGES`]
pub const SPILLED_BYTES_TOTAL: Gauge = Gauge {
    name: "spilledBytesTotal",
    owner: Owner::Reader,
    doc: "Bytes that were written to such files.",
};

/// [`GAUGES`]
pub const TRANSACTIONS_SPILLED: Gauge = Gauge {
    name: "transactionsSpilled",
    owner: Owner::Reader,
    doc: "Transactions that had such a file.",
};

/// [`GAUGES`]
pub const ARCHIVE_HEADROOM: Gauge = Gauge {
    name: "archiveHeadroomBytes",
    owner: Owner::Reader,
    doc: "Bytes of kept log files before the one that a restart from the newest completed checkpoint would begin with: what may be deleted before that is lost; -1 before the log is read. Of a slot: bytes of log that may be written before the server may take some of its log away; -1 without `max_slot_wal_keep_size`.",
};

/// [`GAUGES`]
pub const SLOT_RETAINED: Gauge = Gauge {
    name: "slotRetainedBytes",
    owner: Owner::Reader,
    doc: "Bytes of log that the server keeps for the job's slot, as it was looked at last; -1 without a slot.",
};

/// [`GAUGES`]
pub const PAGES_READ: Gauge = Gauge {
    name: "pagesRead",
    owner: Owner::Reader,
    doc: "Pages of the snapshot that were read, corrected and closed.",
};

/// [`GAUGES`]
pub const ROUNDS_CLOSED: Gauge = Gauge {
    name: "roundsClosed",
    owner: Owner::Reader,
    doc: "How often the log was advanced to correct pages.",
};

/// [`GAUGES`]; the name is Flink CDC's.
pub const SNAPSHOT_RECORDS: Gauge = Gauge {
    name: "numSnapshotRecords",
    owner: Owner::Reader,
    doc: "Rows of the snapshot that were read and corrected.",
};

/// [`GAUGES`]
pub const SNAPSHOT_BYTES: Gauge = Gauge {
    name: "snapshotBytes",
    owner: Owner::Reader,
    doc: "Bytes of these rows, as they go out.",
};

/// [`GAUGES`]
pub const SNAPSHOT_RATE: Gauge = Gauge {
    name: "snapshotRowsPerSecond",
    owner: Owner::Reader,
    doc: "Rows of the snapshot read a second, over the last five seconds or more.",
};

/// [`GAUGES`]
pub const ROUND_BYTES: Gauge = Gauge {
    name: "roundBytes",
    owner: Owner::Reader,
    doc: "Bytes of the pages that wait for the log's next advance; `scan.snapshot.round.bytes` at most, and a page a connection.",
};

/// [`GAUGES`]
pub const MINING_CALLS: Gauge = Gauge {
    name: "miningCalls",
    owner: Owner::Reader,
    doc: "Mining calls made, in both phases.",
};

/// [`GAUGES`]
pub const MINED_BYTES: Gauge = Gauge {
    name: "minedBytes",
    owner: Owner::Reader,
    doc: "Bytes of the log files that were given to mining calls; a file counts each time.",
};

/// [`GAUGES`]
pub const RECORDS_SKIPPED: Gauge = Gauge {
    name: "recordsSkipped",
    owner: Owner::Reader,
    doc: "Log records left out under `log.on-corruption` or `log.on-dictionary-mismatch` = `skip`.",
};

/// [`GAUGES`]
pub const TRANSACTIONS_SKIPPED: Gauge = Gauge {
    name: "transactionsSkipped",
    owner: Owner::Reader,
    doc: "Transactions left out: committed ones that began before the log that is kept, under `scan.startup.mode` = \
          `earliest-offset`, and those that were open for too long, under `transaction.on-max-age` = `skip`.",
};

/// [`GAUGES`]
pub const VALUES_NULLED: Gauge = Gauge {
    name: "valuesNulled",
    owner: Owner::Reader,
    doc: "Values sent as NULL under `value.on-error` = `null`, in both phases.",
};

/// [`GAUGES`]
pub const VALUES_READ_BACK: Gauge = Gauge {
    name: "valuesReadBack",
    owner: Owner::Reader,
    doc: "Values of changes that the log does not hold and that were read by key, under `value.unavailable` = `read-back`.",
};

/// [`GAUGES`]
pub const VALUES_GONE: Gauge = Gauge {
    name: "valuesGone",
    owner: Owner::Reader,
    doc: "Values of new rows that should have been read by key, but whose row was gone by then: the placeholder was sent, NULL where the type has none.",
};

/// [`GAUGES`]
pub const VALUES_UNAVAILABLE: Gauge = Gauge {
    name: "valuesUnavailable",
    owner: Owner::Reader,
    doc: "Placeholders put in the place of values that the log does not hold, those of rows that leave among them.",
};

/// [`GAUGES`]
pub const TRUNCATES_IGNORED: Gauge = Gauge {
    name: "truncatesIgnored",
    owner: Owner::Reader,
    doc: "Truncations passed over under `on-truncate` = `ignore`.",
};

/// [`GAUGES`]
pub const CALLS_ABANDONED: Gauge = Gauge {
    name: "callsAbandoned",
    owner: Owner::Reader,
    doc: "Threads that hung in a driver and were left behind, since the library was loaded.",
};

/// [`GAUGES`]
pub const CHUNKS_PLANNED: Gauge = Gauge {
    name: "chunksPlanned",
    owner: Owner::Enumerator,
    doc: "Chunks of the snapshot that have been cut so far.",
};

/// [`GAUGES`]
pub const CHUNKS_DONE: Gauge = Gauge {
    name: "chunksDone",
    owner: Owner::Enumerator,
    doc: "Chunks that have been read and reported.",
};

/// [`GAUGES`]
pub const TABLES_CUT: Gauge = Gauge {
    name: "tablesCut",
    owner: Owner::Enumerator,
    doc: "1 once the tables are cut and `chunksPlanned` is final, else 0.",
};

/// All gauges.
pub const GAUGES: &[Gauge] = &[
    FETCH_LAG,
    SCN,
    NEXT_SCN,
    OPEN_TRANSACTIONS,
    OLDEST_TRANSACTION_AGE,
    OLDEST_TRANSACTION_SCN,
    OLDEST_TRANSACTION_LOG,
    BUFFERED_BYTES,
    SPILLED_BYTES,
    SPILLED_BYTES_TOTAL,
    TRANSACTIONS_SPILLED,
    ARCHIVE_HEADROOM,
    SLOT_RETAINED,
    PAGES_READ,
    ROUNDS_CLOSED,
    SNAPSHOT_RECORDS,
    SNAPSHOT_BYTES,
    SNAPSHOT_RATE,
    ROUND_BYTES,
    MINING_CALLS,
    MINED_BYTES,
    RECORDS_SKIPPED,
    TRANSACTIONS_SKIPPED,
    VALUES_NULLED,
    VALUES_READ_BACK,
    VALUES_GONE,
    VALUES_UNAVAILABLE,
    TRUNCATES_IGNORED,
    CALLS_ABANDONED,
    CHUNKS_PLANNED,
    CHUNKS_DONE,
    TABLES_CUT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_gauges_and_no_others() {
        let rows: String = GAUGES
            .iter()
            .map(|gauge| format!("| `{}` | {} | {} |\n", gauge.name, gauge.owner.word(), gauge.doc))
            .collect();
        let page = include_str!("../docs/operations.md");
        let table = format!("| gauge | of | meaning |\n| --- | --- | --- |\n{rows}\n");
        assert!(page.contains(&table), "docs/operations.md should have:\n{table}");
    }
}
