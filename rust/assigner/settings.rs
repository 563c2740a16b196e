//! What the assigner is told once.

/// How the job takes checkpoints; a Source cannot ask Flink for it, so it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpointing {
    /// Not at all.
    None,
    /// Aligned, with no timeout after which they are not.
    Aligned,
    /// Unaligned, at once or after a timeout.
    Unaligned,
}

/// What the assigner is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many readers the job has.
    pub parallelism: u32,
    /// How the job takes checkpoints.
    pub checkpointing: Checkpointing,
    /// Whether the stream ends at the largest point (`scan.startup.mode = snapshot`).
    pub bounded: bool,
    /// Greatest number of ranges in one event.
    pub group_ranges: usize,
    /// Greatest size of an event with ranges, in bytes; it must stay below Flink's frame (10 MiB by default). One range
    /// goes out whatever its size.
    pub group_bytes: usize,
}

impl Settings {
    /// Settings with groups of at most 1,000 ranges and 4 MiB.
    pub fn new(parallelism: u32, checkpointing: Checkpointing) -> Self {
        Settings {
            parallelism,
            checkpointing,
            bounded: false,
            group_ranges: 1000,
            group_bytes: 4 << 20,
        }
    }
}
