//! Each rule by its name. What becomes of all of them together under Flink's checkpoints is tests/protocol_model's to show.

mod gate;
mod handing_over;
mod hearing;
mod ranges;

use super::*;
use crate::position::Point;
use crate::split::{AssignerState, Key, KeyRange, StreamSplit};

fn name(text: &str) -> TableName {
    TableName {
        schema: "S".into(),
        name: text.into(),
    }
}

fn bounds(lower: u32, upper: u32) -> KeyRange {
    let key = |number: u32, open: u32| (number != open).then(|| Key(number.to_be_bytes().into()));
    KeyRange {
        lower: key(lower, 0),
        upper: key(upper, END),
    }
}

/// Stands for the open end of a table; its open beginning is zero.
const END: u32 = u32::MAX;

fn chunk(table: &str, lower: u32, upper: u32) -> Chunk {
    Chunk {
        table: Arc::new(name(table)),
        range: bounds(lower, upper),
    }
}

fn finished(table: &str, lower: u32, upper: u32, point: u64) -> FinishedRange {
    FinishedRange {
        table: Arc::new(name(table)),
        range: bounds(lower, upper),
        point: Point::Position(Position::before(Scn(point))),
        mine_from: Scn(point - 1),
    }
}

fn settings(parallelism: u32) -> Settings {
    Settings::new(parallelism, Checkpointing::Aligned)
}

/// One table T, cut into [.., 10) and [10, ..), readers registered.
fn cut_in_two(settings: Settings) -> Assigner {
    let parallelism = settings.parallelism;
    let mut assigner = Assigner::new(settings);
    assigner.start_tables(vec![name("T")], None).unwrap();
    assigner.cut(vec![chunk("T", 0, 10), chunk("T", 10, END)]).unwrap();
    for subtask in 0..parallelism {
        assigner.register(subtask).unwrap();
    }
    assigner
}

/// The same with both chunks out and reported, reader 0 and (if there is one) 1.
fn reported(settings: Settings) -> Assigner {
    let mut assigner = cut_in_two(settings);
    let other = assigner.settings.parallelism.min(2) - 1;
    assigner.event(0, ToEnumerator::Request).unwrap();
    assigner.event(other, ToEnumerator::Request).unwrap();
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    report(&mut assigner, other, finished("T", 10, END, 7));
    assigner
}

/// The same with the stream out.
fn streaming(parallelism: u32) -> Assigner {
    let mut assigner = reported(settings(parallelism));
    assigner.snapshot(1);
    complete(&mut assigner, 1);
    assert!(assigner.is_streaming());
    assigner
}

/// A checkpoint is complete, and all readers go on.
fn complete(assigner: &mut Assigner, checkpoint: u64) -> Vec<Action> {
    let mut actions = assigner.checkpoint_complete(checkpoint).unwrap();
    for subtask in assigner.registered.clone() {
        let event = ToEnumerator::Completed { checkpoint };
        actions.extend(assigner.event(subtask, event).unwrap());
    }
    actions
}

fn report(assigner: &mut Assigner, subtask: u32, range: FinishedRange) -> Vec<Action> {
    assigner.event(subtask, ToEnumerator::Report(range)).unwrap()
}

fn streams(actions: &[Action]) -> Vec<(u32, StreamSplit)> {
    let stream = |action: &Action| match action {
        Action::Assign {
            subtask,
            split: Split::Stream(stream),
        } => Some((*subtask, stream.clone())),
        _ => None,
    };
    actions.iter().filter_map(stream).collect()
}

fn none_now(subtask: u32) -> Action {
    let event = ToReader::NoneNow;
    Action::Send { subtask, event }
}

fn no_more(subtask: u32) -> Action {
    Action::NoMoreSplits { subtask }
}
