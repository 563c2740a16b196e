//! Pages in rounds.

use std::sync::Arc;
use std::time::Duration;

use tidemark::error::{Error, ErrorKind};
use tidemark::position::{Point, Scn};
use tidemark::snapshot::closed::ClosedPage;
use tidemark::snapshot::page::{RoundLimits, Rounds};
use tidemark::snapshot::{PageLimit, PageRounds, PageRows};
use tidemark::split::Chunk;

use crate::scripted::{
    ScriptedLog, StillClock, TextCodec, chunk, cut, fragment, key, patience, range, rows, selected, shape, shaped,
    texts, transaction,
};

fn limits() -> RoundLimits {
    RoundLimits {
        page: PageLimit { rows: 10, bytes: 1000 },
        round_bytes: 40,
        visibility: patience(10),
        log_end: patience(30),
    }
}

fn rounds(log: &ScriptedLog) -> Rounds {
    Rounds::new(Box::new(log.clone()), Arc::new(TextCodec), cut(100, 0), limits())
}

/// A log at 100 that a SELECT may have seen up to `high`.
fn log(high: u64) -> ScriptedLog {
    let log = ScriptedLog::at(cut(100, 0));
    log.then(None, cut(100, 0), 100, 100);
    log.script().visible_end = vec![high; 5];
    log
}

fn read(rounds: &mut Rounds, chunk: Chunk, texts: &[&'static str], rest: Option<&'static str>) {
    let table = u32::from(chunk.table.name == "B");
    let ticket = rounds.begin_page(&mut StillClock::default()).unwrap();
    rounds
        .add_page(ticket, selected(table, chunk, rows(texts), rest.map(key)))
        .unwrap();
}

fn close(rounds: &mut Rounds) -> Vec<ClosedPage> {
    rounds.close(&mut StillClock::default()).unwrap().pages
}

fn kind_of(error: Error) -> String {
    format!("{:?}", error.kind())
}

#[test]
fn a_change_between_low_and_high_is_in_the_page_once() {
    let log = log(110);
    // One that the SELECT saw, one that it did not see, and one behind high.
    log.then(
        Some(transaction(1, (105, 0), 104, &[(0, "a:1", "a:2"), (0, "", "b:1")])),
        cut(105, 1),
        104,
        100,
    );
    log.then(
        Some(transaction(2, (110, 0), 107, &[(0, "c:1", "")])),
        cut(110, 1),
        107,
        100,
    );
    log.then(
        Some(transaction(3, (112, 0), 107, &[(0, "a:2", "a:3")])),
        cut(112, 1),
        107,
        112,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &["a:2", "b:1", "c:1", "d:1"], None);
    let pages = close(&mut rounds);
    assert_eq!(texts(&pages[0].rows), ["a:3", "b:1", "d:1"]);
    assert_eq!(pages[0].point, Point::Position(cut(112, 1)));
    assert_eq!(pages[0].mine_from, Scn(107));
    assert_eq!((&pages[0].range, &pages[0].rest), (&range("", "m"), &None));
}

#[test]
fn a_key_change_across_chunks_leaves_one_page_and_comes_to_another() {
    let log = log(110);
    log.then(
        Some(transaction(
            1,
            (105, 0),
            104,
            &[
                (0, "a:1", "x:2"),
                (0, "y:1", "b:2"),
                (0, "z:1", "n:1"),
                (1, "a:1", "z:1"),
            ],
        )),
        cut(105, 1),
        104,
        111,
    );
    let mut rounds = rounds(&log);
    // The chunk [n, x) is not in the round, and table B has no page at all.
    read(&mut rounds, chunk(0, "x", ""), &["y:1", "z:1"], None);
    read(&mut rounds, chunk(0, "", "n"), &["a:1", "c:1"], None);
    let pages = close(&mut rounds);
    assert_eq!(texts(&pages[0].rows), ["b:2", "c:1"]);
    assert_eq!(texts(&pages[1].rows), ["x:2"]);
}

#[test]
fn pages_of_several_tables_close_at_one_point() {
    let log = log(110);
    log.then(
        Some(transaction(1, (105, 0), 104, &[(1, "", "a:B"), (0, "", "a:A")])),
        cut(105, 1),
        104,
        111,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(1, "", ""), &["b:B"], None);
    read(&mut rounds, chunk(0, "", ""), &["b:A"], None);
    let pages = close(&mut rounds);
    assert_eq!(
        (pages[0].table, texts(&pages[0].rows)),
        (0, vec!["a:A".into(), "b:A".into()])
    );
    assert_eq!(
        (pages[1].table, texts(&pages[1].rows)),
        (1, vec!["a:B".into(), "b:B".into()])
    );
    assert_eq!(pages[0].point, pages[1].point);
}

#[test]
fn commits_that_share_an_scn_end_a_page_between_them() {
    let log = log(105);
    log.then(
        Some(transaction(1, (105, 0), 104, &[(0, "", "a:1")])),
        cut(105, 1),
        104,
        105,
    );
    log.then(None, cut(105, 1), 104, 105);
    log.then(
        Some(transaction(2, (105, 1), 105, &[(0, "", "b:1")])),
        cut(105, 2),
        105,
        105,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", ""), &["a:1"], None);
    let pages = close(&mut rounds);
    assert_eq!(texts(&pages[0].rows), ["a:1"]);
    assert_eq!(pages[0].point, Point::Position(cut(105, 1)));
}

/// The reader knew the log to be read up to 105 before the SELECT; then another commit came to that scn, which the
/// SELECT saw. That the log ends at 105 is proof only once it was asked for again.
#[test]
fn an_end_that_was_known_before_the_select_proves_nothing_of_its_own_scn() {
    let log = ScriptedLog::at(cut(105, 1));
    log.script().visible_end = vec![105];
    log.then(None, cut(105, 1), 105, 105);
    log.then(
        Some(transaction(2, (105, 1), 105, &[(0, "", "b:1")])),
        cut(105, 2),
        105,
        105,
    );
    let mut rounds = Rounds::new(Box::new(log.clone()), Arc::new(TextCodec), cut(105, 0), limits());
    read(&mut rounds, chunk(0, "", ""), &["b:1"], None);
    assert_eq!(close(&mut rounds)[0].point, Point::Position(cut(105, 2)));
}

#[test]
fn a_transaction_is_never_left_half_applied() {
    let log = log(105);
    log.then(
        Some(fragment(1, (106, 0), 104, 0, false, &[(0, "", "a:1")])),
        cut(100, 0),
        100,
        106,
    );
    log.then(
        Some(fragment(1, (106, 0), 104, 1, true, &[(0, "", "b:1")])),
        cut(106, 1),
        104,
        106,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", ""), &[], None);
    assert_eq!(texts(&close(&mut rounds)[0].rows), ["a:1", "b:1"]);
}

/// One transaction was open before the job and commits while pages are read, another commits behind them: the first
/// is in the page, the second is for the log phase, which must mine from its START.
#[test]
fn transactions_open_at_the_point_are_mined_from_their_start() {
    let log = log(110);
    log.then(
        Some(transaction(1, (108, 0), 90, &[(0, "a:1", "a:2")])),
        cut(108, 1),
        90,
        110,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", ""), &["a:1"], None);
    log.then(None, cut(108, 1), 90, 110);
    let pages = close(&mut rounds);
    assert_eq!(texts(&pages[0].rows), ["a:2"]);
    let finished = pages[0].finished_after(1).unwrap();
    assert_eq!(
        (finished.point, finished.mine_from),
        (Point::Position(cut(108, 1)), Scn(90))
    );
}

#[test]
fn the_log_stands_still_between_a_rounds_first_and_last_page_and_high_comes_after_the_select() {
    let log = log(110);
    log.then(None, cut(100, 0), 100, 111);
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &[], None);
    read(&mut rounds, chunk(0, "m", ""), &[], None);
    let page = ["still_open", "visible_end"];
    assert_eq!(log.script().calls, [&["poll"][..], &page, &page].concat());
    close(&mut rounds);
    assert_eq!(log.script().calls.last(), Some(&"poll"));
}

#[test]
fn the_log_is_read_up_to_the_largest_high_of_the_round() {
    let log = log(110);
    log.script().visible_end = vec![110, 120];
    log.then(None, cut(100, 0), 100, 111);
    log.then(
        Some(transaction(1, (120, 0), 104, &[(0, "", "a:1")])),
        cut(120, 1),
        104,
        120,
    );
    log.then(None, cut(120, 1), 104, 120);
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &[], None);
    read(&mut rounds, chunk(0, "m", ""), &[], None);
    assert_eq!(texts(&close(&mut rounds)[0].rows), ["a:1"]);
}

#[test]
fn a_page_read_with_a_ticket_of_an_earlier_round_is_refused() {
    let log = log(110);
    log.then(None, cut(100, 0), 100, 111);
    let mut rounds = rounds(&log);
    let ticket = rounds.begin_page(&mut StillClock::default()).unwrap();
    read(&mut rounds, chunk(0, "m", ""), &[], None);
    close(&mut rounds);
    let error = rounds
        .add_page(ticket, selected(0, chunk(0, "", "m"), rows(&["a:1"]), None))
        .unwrap_err();
    assert!(kind_of(error).contains("while the log moved"));
}

#[test]
fn rows_that_do_not_ascend_or_lie_elsewhere_are_refused() {
    let cases: [(&[&str], Option<&str>); 5] = [
        (&["b:1", "a:1"], None),
        (&["a:1", "a:2"], None),
        (&["a:1", "z:1"], None),
        (&["b:1"], Some("b")),
        (&["b:1"], Some("z")),
    ];
    for (texts, rest) in cases {
        let mut rounds = rounds(&log(110));
        let ticket = rounds.begin_page(&mut StillClock::default()).unwrap();
        let added = rounds.add_page(ticket, selected(0, chunk(0, "", "m"), rows(texts), rest.map(key)));
        assert!(kind_of(added.unwrap_err()).contains("Internal"), "{texts:?}");
    }
}

#[test]
fn any_prefix_of_a_page_is_a_finished_range() {
    let log = log(110);
    log.then(None, cut(100, 0), 100, 111);
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &["b:1", "c:1"], Some("e"));
    let page = close(&mut rounds).remove(0);
    assert_eq!(page.rest, Some(chunk(0, "e", "m")));
    let after = |out| {
        let finished = page.finished_after(out).map(|finished| finished.range);
        (finished, page.unread_after(out))
    };
    assert_eq!(after(0), (None, Some(chunk(0, "", "e"))));
    assert_eq!(after(1), (Some(range("", "c")), Some(chunk(0, "c", "e"))));
    assert_eq!(after(2), (Some(range("", "e")), None));
}

#[test]
fn a_page_without_rows_is_finished_at_once() {
    let log = log(110);
    log.then(
        Some(transaction(1, (105, 0), 104, &[(0, "b:1", "")])),
        cut(105, 1),
        104,
        111,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "a", "m"), &["b:1"], None);
    let page = close(&mut rounds).remove(0);
    assert_eq!(
        page.finished_after(0).map(|finished| finished.range),
        Some(range("a", "m"))
    );
    assert_eq!(page.unread_after(0), None);
}

#[test]
fn a_page_whose_table_changes_its_shape_meanwhile_is_read_again() {
    let log = log(110);
    log.then(
        Some(transaction(1, (105, 0), 104, &[(0, "b:1", "")])),
        cut(105, 1),
        104,
        100,
    );
    log.then(Some(shape(0, 106, true)), cut(106, 0), 104, 100);
    log.then(Some(shaped(106)), cut(106, 1), 104, 100);
    log.then(
        Some(transaction(2, (108, 0), 104, &[(0, "", "c:1")])),
        cut(108, 1),
        104,
        111,
    );
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &["b:1"], Some("c"));
    read(&mut rounds, chunk(1, "", ""), &["a:1"], None);
    let round = rounds.close(&mut StillClock::default()).unwrap();
    assert_eq!(round.again, [(0, chunk(0, "", "m"))]);
    assert_eq!(round.pages.len(), 1);
    assert_eq!(round.pages[0].table, 1);
}

#[test]
fn a_round_is_full_by_its_bytes() {
    let mut rounds = rounds(&log(110));
    assert!(rounds.size() == 0 && !rounds.is_full(0));
    read(&mut rounds, chunk(0, "", "m"), &["a:123456789", "b:123456789"], None);
    assert!(!rounds.is_full(0));
    read(&mut rounds, chunk(0, "m", ""), &["n:1234567890123"], None);
    assert!(rounds.is_full(0));
}

#[test]
fn rounds_grow_from_4_mb_to_their_limit_as_long_as_they_are_full() {
    const MB: usize = 1 << 20;
    let log = log(100);
    let limits = RoundLimits {
        round_bytes: 10 * MB,
        ..limits()
    };
    let mut rounds = Rounds::new(Box::new(log.clone()), Arc::new(TextCodec), cut(100, 0), limits);
    let mut pages_until_full = |most: usize| {
        let mut pages = 0;
        while !rounds.is_full(0) && pages < most {
            // A row of 1 MB a page.
            let row = format!("a:{}", "x".repeat(MB));
            let ticket = rounds.begin_page(&mut StillClock::default()).unwrap();
            let mut read = PageRows::default();
            read.push_encoded(b"a", row.as_bytes());
            rounds
                .add_page(ticket, selected(0, chunk(0, "", ""), read, None))
                .unwrap();
            pages += 1;
        }
        log.script().visible_end.push(100);
        log.then(None, cut(100, 0), 100, 100);
        rounds.close(&mut StillClock::default()).unwrap();
        pages
    };
    assert_eq!([99, 2, 99, 99, 99].map(&mut pages_until_full), [4, 2, 8, 10, 10]);
}

#[test]
fn nothing_is_selected_before_the_log_is_read_up_to_its_opening() {
    let log = ScriptedLog::at(cut(90, 0));
    log.then(Some(transaction(1, (95, 0), 90, &[(0, "", "a:1")])), cut(95, 1), 95, 90);
    log.then(None, cut(95, 1), 95, 101);
    let mut rounds = rounds(&log);
    rounds.begin_page(&mut StillClock::default()).unwrap();
    assert_eq!(log.script().calls, ["poll", "poll", "still_open"]);
}

#[test]
fn a_page_waits_for_commits_to_become_visible_but_not_for_ever() {
    let log = log(110);
    let open = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    log.script().still_open = [open(&["transaction 5 of session 8"]), open(&[])].into();
    let mut clock = StillClock::default();
    rounds(&log).begin_page(&mut clock).unwrap();
    assert_eq!(clock.now, Duration::from_secs(1));

    log.then(None, cut(100, 0), 100, 100);
    log.script().still_open = [open(&["transaction 5 of session 8", "transaction 6"])].into();
    let error = rounds(&log).begin_page(&mut clock).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("within 10 s: transaction 5 of session 8, transaction 6"),
        "{error}"
    );
    assert!(error.is_retryable());
}

#[test]
fn a_log_whose_end_stays_behind_is_pushed_once_then_an_error() {
    let log = log(110);
    log.script().may_push = true;
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", ""), &[], None);
    let mut clock = StillClock::default();
    let error = rounds.close(&mut clock).unwrap_err();
    assert_eq!(log.script().pushes, 1);
    assert!(clock.now >= Duration::from_secs(60), "{:?}", clock.now);
    assert!(
        matches!(error.kind(), ErrorKind::LogBehind { needed, reached, .. } if (needed.0, reached.0) == (110, 100)),
        "{error}"
    );
}

#[test]
fn a_push_that_helps_is_no_error() {
    let log = log(110);
    log.script().may_push = true;
    (0..40).for_each(|_| {
        log.then(None, cut(100, 0), 100, 100);
    });
    log.then(None, cut(100, 0), 100, 110);
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", ""), &["a:1"], None);
    assert_eq!(close(&mut rounds).len(), 1);
    assert_eq!(log.script().pushes, 1);
}

#[test]
fn every_wait_ends_when_the_reader_is_closed() {
    let stopping = || StillClock {
        stops_at: Some(Duration::from_secs(3)),
        ..StillClock::default()
    };
    let first = log(110);
    first.script().still_open = [vec!["transaction 5".to_owned()]].into();
    let error = rounds(&first).begin_page(&mut stopping()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed));

    let mut rounds = rounds(&log(110));
    read(&mut rounds, chunk(0, "", ""), &[], None);
    let error = rounds.close(&mut stopping()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Closed));
}

#[test]
fn no_page_is_read_once_the_log_of_earlier_ones_is_gone() {
    let log = log(110);
    log.then(Some(transaction(1, (108, 0), 90, &[])), cut(108, 1), 90, 110);
    log.then(None, cut(108, 1), 90, 110);
    let mut rounds = rounds(&log);
    read(&mut rounds, chunk(0, "", "m"), &["a:1"], None);
    close(&mut rounds);
    log.script().oldest_kept = 90;
    rounds.begin_page(&mut StillClock::default()).unwrap();
    log.script().oldest_kept = 91;
    let error = rounds.begin_page(&mut StillClock::default()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LogGone { needed: Scn(90), .. }),
        "{error}"
    );
}

#[test]
fn the_log_of_restored_ranges_is_needed_too() {
    let log = log(110);
    log.script().oldest_kept = 60;
    let mut rounds = rounds(&log);
    rounds.keep(Scn(70));
    rounds.begin_page(&mut StillClock::default()).unwrap();
    rounds.keep(Scn(50));
    assert!(rounds.begin_page(&mut StillClock::default()).is_err());
}

#[test]
fn a_round_without_pages_leaves_the_log_alone() {
    let log = log(110);
    let mut rounds = rounds(&log);
    assert!(close(&mut rounds).is_empty());
    assert!(log.script().calls.is_empty());
}
