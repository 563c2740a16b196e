//! The rules of the enumerator, each of which can be off in the literal one.

/// What a reset forgets of the subtask's ranges.
#[derive(Clone, Copy, PartialEq)]
pub enum Forget {
    Provisional,
    Nothing,
    Everything,
}

/// What an equal report of a firm range does.
#[derive(Clone, Copy, PartialEq)]
pub enum FirmAgain {
    Acknowledge,
    /// It is like any other overlap.
    Overlap,
}

/// The rules of the enumerator, each of which can be off.
#[derive(Clone)]
pub struct Rules {
    pub forget: Forget,
    /// An equal report of a firm range is acknowledged at once and changes nothing.
    pub firm_again: FirmAgain,
    /// Whether a chunk is finished is derived from the ranges, no status.
    pub finished_is_derived: bool,
    /// A returned stream split is thrown away.
    pub stream_is_rebuilt: bool,
    /// Only what comes back is planned again.
    pub plan_only_what_comes_back: bool,
    /// The gate waits until all ranges are firm.
    pub gate_wants_firm: bool,
    /// Who was told none-now is remembered.
    pub none_now_is_remembered: bool,
    /// While the stream split is out nothing is forgotten.
    pub keep_while_out: bool,
    /// A single reader's ranges need not be firm.
    pub one_reader_merely_tiles: bool,
    /// The stream goes to a reader that was not told no-more-splits.
    pub stream_to_the_untold: bool,
    /// And to one that is registered.
    pub stream_to_the_registered: bool,
    /// One stream split at a time.
    pub one_stream: bool,
    /// All tables must be tiled.
    pub every_table_tiles: bool,
    /// All others are told no-more-splits.
    pub others_are_told: bool,
    /// The stream's reader is told so behind its split.
    pub its_reader_is_told: bool,
    /// Who was told no-more-splits gets no answers any more.
    pub told_get_no_answers: bool,
    /// Any other overlap is an error.
    pub overlap_is_an_error: bool,
    /// What is restored is firm.
    pub restored_is_firm: bool,
    /// A later notice implies the earlier ones.
    pub later_implies_earlier: bool,
    /// Readers are told no-more-splits again after each registration.
    pub told_again: bool,
    /// When the gate is asked.
    pub ask_after_report: bool,
    pub ask_after_notice: bool,
    pub ask_after_registration: bool,
    /// Behind a notice a reader is sent nothing unasked until it is heard of.
    pub silent_behind_a_notice: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            forget: Forget::Provisional,
            firm_again: FirmAgain::Acknowledge,
            finished_is_derived: true,
            stream_is_rebuilt: true,
            plan_only_what_comes_back: true,
            gate_wants_firm: true,
            none_now_is_remembered: true,
            keep_while_out: true,
            one_reader_merely_tiles: true,
            stream_to_the_untold: true,
            stream_to_the_registered: true,
            one_stream: true,
            every_table_tiles: true,
            others_are_told: true,
            its_reader_is_told: true,
            told_get_no_answers: true,
            overlap_is_an_error: true,
            restored_is_firm: true,
            later_implies_earlier: true,
            told_again: true,
            ask_after_report: true,
            ask_after_notice: true,
            ask_after_registration: true,
            silent_behind_a_notice: true,
        }
    }
}
