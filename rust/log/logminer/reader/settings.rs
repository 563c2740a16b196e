//! What a job says about reading the log.

use std::sync::Arc;
use std::time::Duration;

use crate::log::OnFault;
use crate::log::logminer::changes::Selection;
use crate::log::logminer::delivery::FragmentLimit;
use crate::log::spill::Spilling;
use crate::log::undo::Form;
use crate::row::zone::Zone;

/// What a job says about reading the log.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `log.fetch.size`: rows of one fetch.
    pub fetch_rows: usize,
    /// `log.window.bytes`: files of one mining call.
    pub window_bytes: u64,
    /// Where fragments end.
    pub fragment: FragmentLimit,
    /// `log.switch`: whether the server may be told to begin a new log file.
    pub may_switch: bool,
    /// `log.on-corruption`
    pub on_corruption: OnFault,
    /// `log.on-dictionary-mismatch`
    pub on_mismatch: OnFault,
    /// What to do about a transaction whose START the log no longer holds.
    pub on_lost_start: OnFault,
    /// How long a file that should be there may be missing before that is an error.
    pub missing_patience: Duration,
    /// How long the log's end may stand still where more of it is needed, before it is switched and before that is an error.
    pub log_end_patience: Duration,
    /// Whether texts with apostrophes that were not doubled are read by guess.
    pub lenient: bool,
    /// `server-time-zone`
    pub zone: Zone,
    /// How the log marks undone changes, where it is known.
    pub undo: Form,
    /// What to set so that the log holds whole rows.
    pub logging_hint: String,
    /// What of a table must be read once its shape has changed; without, everything.
    pub selection: Option<Arc<dyn Selection>>,
    /// `transaction.max-age`
    pub max_age: Option<Duration>,
    /// `transaction.on-max-age`
    pub on_max_age: OnFault,
    /// `transaction.memory`, and where what is beyond goes.
    pub spilling: Arc<Spilling>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            fetch_rows: 2_000,
            window_bytes: 512 << 20,
            fragment: FragmentLimit {
                rows: 10_000,
                bytes: 64 << 20,
            },
            may_switch: false,
            on_corruption: OnFault::Fail,
            on_mismatch: OnFault::Fail,
            on_lost_start: OnFault::Fail,
            missing_patience: Duration::ZERO,
            log_end_patience: Duration::from_secs(30),
            lenient: false,
            zone: Zone::UTC,
            undo: Form::Unknown,
            logging_hint: "see the setup script".into(),
            selection: None,
            max_age: None,
            on_max_age: OnFault::Fail,
            spilling: Spilling::unlimited(),
        }
    }
}
