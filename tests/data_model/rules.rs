//! The rules of the design, each of which a run can do without.

/// A rule that does not hold in a run. All of them are broken in the fakes or the driver, none in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All rules hold.
    None,
    /// 4.4: nobody waits for transactions that are committed in the log to become visible.
    NoWait,
    /// 4.3: transactions that the reader only noted are not waited for.
    NotedForgotten,
    /// 4.3: `V` is asked before the SELECT.
    HighBeforeSelect,
    /// 4.3: the first round starts before the log is read up to its opening position.
    NotReadUpToOpening,
    /// 4.3: the log reader moves while a page is read.
    LogMovesDuringPages,
    /// 4.3: a change of the table's shape does not make its pages be read again.
    SchemaUnheard,
    /// 4.3: a key change only brings the new key.
    KeyChangeOnlyArrives,
    /// 4.3: a page's point is the largest `V` of its round, not where the log reader stands.
    PointIsHigh,
    /// 4.3: a page's `mine_from` is its point.
    MineFromIsPoint,
    /// 4.3: a checkpoint inside a page keeps the page as unread.
    PageUnreadUntilEmitted,
    /// 4.3: a checkpoint inside a page keeps the page as finished.
    PageFinishedAtOnce,
    /// 3.1.2: commits of an scn are numbered anew in each window.
    NumbersStartWithWindow,
    /// 3.1.3: the next window starts behind the last scn.
    WindowExclusive,
    /// 3.1.3: an empty result moves the position to the end of the log.
    EmptyResultMoves,
    /// 3.1.4: `V` is taken for `E`.
    VisibleIsMinable,
    /// 3.1.4: `E` is asked after the mining call.
    EndAskedAfter,
    /// 3.1.4: an end inside an scn counts as that scn.
    EndInsideAnScn,
    /// 3.1.4: the reader says that there is nothing more without asking for the log's end.
    EndNotAsked,
    /// 3.1.5: the open transactions are asked for before `E`.
    OpenBeforeEnd,
    /// 3.1.5: the opening position lies behind the end of the log.
    OpeningBehindEnd,
    /// 3.1.5: nobody looks for a START that was not seen.
    NoRescue,
    /// 5: the stream starts at the largest point.
    StartAtLargestPoint,
    /// 5: the filter knows scns only.
    PointIsScn,
    /// 5: a key change is judged by its new key alone.
    KeyChangeJudgedOnce,
    /// 5: ranges leave the state at the smallest point.
    RangesDroppedEarly,
    /// 6: `commit` is an scn, not a place among its commits.
    CommitIsScn,
    /// 6: a checkpoint inside a transaction keeps nothing of it.
    PartialForgotten,
    /// 6: the state is that of the last batch, not of the last row.
    StateOfBatches,
    /// 6: a checkpoint falls between the halves of an update.
    HalvesApart,
    /// 6: `next_scn` is the oldest START open where the reader reads, not at the COMMIT that is out.
    NextScnOfReadAhead,
    /// 8: a value is read back before the transaction that has it is visible.
    ReadBackUnseen,
    /// 6: `next_scn` of a COMMIT leaves out transactions that are queued behind it.
    NextScnWithoutQueued,
}

/// What a run obeys.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub fault: Fault,
    /// The log is read by the reader that mines, not by the model's own.
    pub mined: bool,
    /// The snapshot readers' logs are opened so that no START is ever missed, and nobody looks for one: then a
    /// `next_scn` or `mine_from` that is too high shows.
    pub exact: bool,
}

impl Rules {
    /// Whether a missed START is looked for.
    pub fn rescue(&self) -> bool {
        !self.exact && self.fault != Fault::NoRescue
    }
}
