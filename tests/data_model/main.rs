//! A random model of the data's way (design 3.1, 4.3, 4.4, 5, 6) over the real merge, rounds, stream filter and
//! offsets, without a database: each seed is a run of writers, archiver, snapshot readers, stream, checkpoints and
//! crashes, whose sink takes no row twice and equals the table in the end. A rule that is left out shows.

mod codec;
mod database;
mod log;
mod mined;
mod model;
mod outcome;
mod rules;
mod running;
mod sink;

use model::Model;
use outcome::{Failure, Tally};
use rules::{Fault, Rules};

fn run(seed: u64, rules: Rules) -> (Result<(), Failure>, Tally) {
    let mut model = Model::new(seed, rules);
    (model.run(), model.tally)
}

/// All rules hold.
const RULES: Rules = Rules {
    fault: Fault::None,
    mined: false,
    exact: false,
};

/// Runs seeds; the first that is not clean fails the test.
fn clean(seeds: std::ops::Range<u64>, rules: Rules) -> Tally {
    let mut sum = Tally::default();
    for seed in seeds {
        let (result, tally) = run(seed, rules);
        if let Err(Failure(text)) = result {
            panic!("seed {seed}: {text}");
        }
        sum.add(tally);
    }
    sum
}

#[test]
fn with_all_rules_every_run_is_clean() {
    let tally = clean(0..60_000, RULES);
    // The model reaches what it is for.
    assert!(tally.crashes > 50_000 && tally.bounded > 5_000, "{tally:?}");
    assert!(
        tally.inside_page > 20_000 && tally.inside_transaction > 50_000,
        "{tally:?}"
    );
    assert!(tally.cut_pages > 5_000 && tally.pages_read_again > 1_000, "{tally:?}");
    assert!(tally.rescues > 1_000 && tally.truncated > 100, "{tally:?}");
}

#[test]
fn where_readers_open_exactly_no_start_is_ever_missed() {
    let tally = clean(0..20_000, Rules { exact: true, ..RULES });
    assert!(tally.stream_checkpoints > 10_000, "{tally:?}");
}

/// The same over the reader that mines, from redo texts in archived files on.
#[test]
fn over_the_mining_reader_every_run_is_clean() {
    let tally = clean(0..10_000, Rules { mined: true, ..RULES });
    assert!(tally.crashes > 8_000 && tally.inside_transaction > 10_000, "{tally:?}");
}

/// A run without the rule must go wrong within the seeds: a row lost or doubled, or a state that does not fit the log.
/// A run that only waits for ever proves nothing, nor one whose rows are only of other kinds.
fn bites(fault: Fault, exact: bool) {
    for seed in 0..20_000 {
        match run(seed, Rules { fault, exact, ..RULES }).0 {
            Err(Failure(text))
                if ["lost", "twice", "error: TM-5001"]
                    .iter()
                    .any(|how| text.starts_with(how)) =>
            {
                println!("{fault:?}, seed {seed}: {text}");
                return;
            }
            _ => {}
        }
    }
    panic!("without {fault:?} nothing goes wrong");
}

macro_rules! bites {
    ($($name:ident: $fault:ident $(, $exact:ident)?;)*) => {
        mod without_the_rule_it_goes_wrong {
            use super::*;
            $(
                #[test]
                fn $name() {
                    #[allow(unused_mut, unused_assignments)]
                    let mut exact = false;
                    $(exact = stringify!($exact) == "exact";)?
                    bites(Fault::$fault, exact);
                }
            )*
        }
    };
}

bites! {
    no_wait: NoWait;
    noted_forgotten: NotedForgotten;
    high_before_select: HighBeforeSelect;
    not_read_up_to_opening: NotReadUpToOpening;
    log_moves_during_pages: LogMovesDuringPages;
    schema_unheard: SchemaUnheard;
    key_change_only_arrives: KeyChangeOnlyArrives;
    point_is_high: PointIsHigh;
    mine_from_is_point: MineFromIsPoint, exact;
    page_unread_until_emitted: PageUnreadUntilEmitted;
    page_finished_at_once: PageFinishedAtOnce;
    numbers_start_with_window: NumbersStartWithWindow;
    window_exclusive: WindowExclusive;
    empty_result_moves: EmptyResultMoves;
    visible_is_minable: VisibleIsMinable;
    end_asked_after: EndAskedAfter;
    end_inside_an_scn: EndInsideAnScn;
    end_not_asked: EndNotAsked;
    open_before_end: OpenBeforeEnd;
    opening_behind_end: OpeningBehindEnd;
    no_rescue: NoRescue;
    start_at_largest_point: StartAtLargestPoint;
    point_is_scn: PointIsScn;
    key_change_judged_once: KeyChangeJudgedOnce;
    ranges_dropped_early: RangesDroppedEarly;
    commit_is_scn: CommitIsScn;
    partial_forgotten: PartialForgotten;
    state_of_batches: StateOfBatches;
    halves_apart: HalvesApart;
    next_scn_of_read_ahead: NextScnOfReadAhead, exact;
    read_back_unseen: ReadBackUnseen;
    next_scn_without_queued: NextScnWithoutQueued, exact;
}
