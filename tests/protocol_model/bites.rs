//! Each rule of design 5, broken: the model must fail. Where the driver can break a rule it does so around the real
//! enumerator and reader; what only the enumerator itself can break is broken in the literal one.

use tidemark::assigner::Assigner;

use crate::enumerator::Enumerator;
use crate::literal::Literal;
use crate::rules::{FirmAgain, Forget, Rules};
use crate::world::{Config, Faults};
use crate::{bounded, bounded_alone, grown, rough, run};

/// Seeds within which a broken rule must show; most do within some dozens.
const SEEDS: u64 = 20_000;

/// Some seed fails, in one of the ways that the broken rule is known for.
fn bites<E: Enumerator>(config: &Config, rules: &E::Rules, ways: &[&str]) {
    for seed in 0..SEEDS {
        if let Err(failure) = run::<E>(config, rules, seed).0 {
            println!("seed {seed}: {}", failure.0);
            let known = ways.iter().any(|way| failure.0.contains(way));
            assert!(known, "the broken rule shows in another way: {}", failure.0);
            return;
        }
    }
    panic!("the broken rule was not noticed");
}

macro_rules! broken_by_the_driver {
    ($($name:ident: $fault:ident in $config:expr => $($way:literal)|+;)*) => {
        $(
            #[test]
            fn $name() {
                let faults = Faults { $fault: true, ..Faults::default() };
                let config = Config { faults, ..$config };
                bites::<Assigner>(&config, &(), &[$($way),+]);
            }
        )*
    };
}

macro_rules! broken_in_the_enumerator {
    ($($name:ident: { $($rule:ident: $off:expr),+ } in $config:expr => $($way:literal)|+;)*) => {
        $(
            #[test]
            fn $name() {
                let rules = Rules { $($rule: $off,)+ ..Rules::default() };
                bites::<Literal>(&$config, &rules, &[$($way),+]);
            }
        )*
    };
}

broken_by_the_driver! {
    a_range_is_reported_only_after_its_last_row: report_before_the_rows in Config::default() => "INV" | "overlap";
    an_unacknowledged_range_is_state: finished_ranges_are_no_state in Config::default() => "hang";
    the_prefix_of_a_half_emitted_page_is_state: pages_are_out_whole_or_not in Config::default() => "INV1" | "INV5";
    the_rest_of_a_begun_chunk_is_state: rest_is_forgotten in Config::default() => "hang";
    every_restored_range_is_reported_again: no_second_report in Config::default() => "hang";
    reports_come_behind_the_registration: reports_before_registration in Config::default() => "hang";
    a_range_is_dropped_on_the_acknowledgement_alone: dropped_on_the_own_notice in Config::default() => "hang";
    acknowledgements_wait_for_a_completed_checkpoint: acknowledged_at_once in Config::default() => "hang";
    a_reader_may_finish_without_acknowledgements: unacknowledged_ranges_hold_a_reader in bounded() => "hang";
    a_reader_waits_until_it_is_told_no_more_splits: a_reader_finishes_untold in bounded() => "finished reader";
    a_range_is_firm_only_in_a_checkpoint_that_holds_it: firm_at_any_notice in Config::default() => "INV5" | "hang" | "overlap";
    the_gate_waits_for_firm_ranges: gate_does_not_wait_for_firm in Config::default() => "INV5";
    nothing_is_sent_to_a_reader_that_is_down: sends_to_readers_that_are_down in Config::default() => "down" | "not registered";
    an_empty_list_is_given_back_too: empty_lists_are_not_given_back in Config::default() => "overlap" | "INV5";
    a_reset_forgets_provisional_ranges: resets_forget_nothing in Config::default() => "overlap" | "INV" | "at once";
    the_stream_reads_nothing_before_it_has_all_ranges: stream_reads_before_all_ranges in Config::default() => "INV3";
    what_answers_the_enumerator_is_sent_while_the_reader_is_polled: answers_are_sent_at_once in Config { group: 1, stops: 0.02, ..Config::default() } => "stopped";
    missing_ranges_are_asked_for_after_a_restore: ranges_not_asked_again in Config::default() => "hang";
}

broken_in_the_enumerator! {
    finished_is_a_fact_and_no_status: { finished_is_derived: false } in Config::default() => "do not tile";
    a_returned_stream_split_is_thrown_away: { stream_is_rebuilt: false } in Config::default() => "INV2" | "INV3";
    an_equal_report_of_a_firm_range_is_no_error: { firm_again: FirmAgain::Overlap } in Config::default() => "overlap";
    an_equal_report_of_a_firm_range_changes_nothing:
        { firm_again: FirmAgain::Overlap, overlap_is_an_error: false }
        in Config { parallelism: Some(2), extra_checkpoints: 0.03, ..bounded() } => "hang";
    nothing_is_forgotten_while_the_stream_is_out: { keep_while_out: false } in Config { bounded: true, ..grown() } => "INV3" | "hang";
    who_was_told_none_now_is_remembered: { none_now_is_remembered: false } in Config::default() => "hang";
    a_reset_forgets_something: { forget: Forget::Nothing } in Config::default() => "overlap" | "INV";
    a_reset_forgets_no_firm_range: { forget: Forget::Everything } in Config::default() => "hang";
    only_what_comes_back_is_planned_again: { plan_only_what_comes_back: false } in Config::default() => "overlap" | "INV" | "two finished";
    what_is_restored_is_firm: { restored_is_firm: false } in Config::default() => "overlap";
    a_later_notice_implies_a_lost_one: { later_implies_earlier: false } in Config::default() => "hang";
    the_gate_wants_firm_ranges: { gate_wants_firm: false } in Config::default() => "INV5" | "overlap";
    the_gate_wants_every_table: { every_table_tiles: false } in Config { tables: 2, ..Config::default() } => "INV3";
    one_reader_needs_no_checkpoint: { one_reader_merely_tiles: false } in bounded_alone() => "hang";
    the_stream_goes_to_a_reader_that_was_not_told_no_more_splits:
        { stream_to_the_untold: false } in Config::default() => "after no-more-splits" | "finished reader";
    the_stream_goes_to_a_registered_reader: { stream_to_the_registered: false } in Config::default() => "not registered";
    there_is_one_stream_split: { one_stream: false, its_reader_is_told: false } in Config::default() => "second stream";
    all_others_are_told_no_more_splits: { others_are_told: false } in bounded() => "hang";
    the_streams_reader_is_told_behind_its_split: { its_reader_is_told: false } in bounded_alone() => "hang";
    who_was_told_no_more_splits_gets_no_answers: { told_get_no_answers: false } in bounded() => "finished reader";
    they_are_told_again_after_their_registration: { told_again: false } in bounded() => "hang";
    nothing_goes_out_unasked_behind_a_notice: { silent_behind_a_notice: false } in Config::default() => "stopped";
    the_gate_is_asked_after_a_report: { ask_after_report: false } in bounded_alone() => "hang";
    the_gate_is_asked_after_a_notice: { ask_after_notice: false } in Config::default() => "hang";
    the_gate_is_asked_after_a_registration:
        { ask_after_registration: false } in Config { stream_only: true, ..bounded_alone() } => "hang";
}

/// An overlap cannot come up while the other rules are kept; it is an error so that a fault elsewhere ends in a restart
/// and not in rows lost or doubled.
#[test]
fn an_overlap_is_an_error() {
    for forget in [Forget::Nothing, Forget::Provisional] {
        let rules = Rules {
            forget,
            plan_only_what_comes_back: forget == Forget::Nothing,
            overlap_is_an_error: false,
            ..Rules::default()
        };
        bites::<Literal>(&rough(), &rules, &["INV", "needs", "hang"]);
    }
}
