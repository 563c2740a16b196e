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
pub const GAUGES: &[Gauge] = &[FETCH_LAG, SCN, NEXT_SCN, CHUNKS_PLANNED, CHUNKS_DONE, TABLES_CUT];

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
