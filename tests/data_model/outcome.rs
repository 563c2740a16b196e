//! How a run ends.

use tidemark::error::Error;

/// Why a run is not clean.
#[derive(Debug)]
pub struct Failure(pub String);

/// What a step of a run returns.
pub type Outcome<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(format!("error: {error}"))
    }
}

/// What runs came to, to see that the model reaches what it is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub runs: u64,
    pub crashes: u64,
    pub inside_page: u64,
    pub inside_transaction: u64,
    pub stream_checkpoints: u64,
    pub cut_pages: u64,
    pub pages_read_again: u64,
    pub truncated: u64,
    pub bounded: u64,
    pub rescues: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.runs += other.runs;
        self.crashes += other.crashes;
        self.inside_page += other.inside_page;
        self.inside_transaction += other.inside_transaction;
        self.stream_checkpoints += other.stream_checkpoints;
        self.cut_pages += other.cut_pages;
        self.pages_read_again += other.pages_read_again;
        self.truncated += other.truncated;
        self.bounded += other.bounded;
        self.rescues += other.rescues;
    }
}
