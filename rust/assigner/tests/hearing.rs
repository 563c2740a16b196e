//! What is sent unasked waits behind a notice for its reader to be heard of: it may have been stopped with a savepoint.

use super::*;

fn completed(assigner: &mut Assigner, subtask: u32, checkpoint: u64) -> Vec<Action> {
    assigner.event(subtask, ToEnumerator::Completed { checkpoint }).unwrap()
}

#[test]
fn the_gate_and_acknowledgements_wait_for_readers_to_be_heard_of() {
    let mut assigner = reported(settings(2));
    assigner.snapshot(1);
    assert_eq!(assigner.checkpoint_complete(1).unwrap(), []);
    assert!(!assigner.is_streaming());
    assert_eq!(assigner.progress().provisional, 0);
    // The stream goes to the one that is heard of first; the other one is told when it is.
    let actions = completed(&mut assigner, 1, 1);
    assert_eq!(actions[0], acknowledge(1, finished("T", 10, END, 7)));
    assert_eq!((streams(&actions)[0].0, &actions[2..]), (1, &[no_more(1)][..]));
    let actions = completed(&mut assigner, 0, 1);
    assert_eq!(actions, [acknowledge(0, finished("T", 0, 10, 5)), no_more(0)]);
    assert_eq!(completed(&mut assigner, 0, 1), []);
}

#[test]
fn chunks_that_are_cut_wait_for_readers_to_be_heard_of() {
    let mut assigner = Assigner::new(settings(3));
    assigner.start_tables(vec![name("T")], None).unwrap();
    for subtask in 0..3 {
        assigner.register(subtask).unwrap();
        let actions = assigner.event(subtask, ToEnumerator::Request).unwrap();
        assert_eq!(actions, [none_now(subtask)]);
    }
    assigner.snapshot(4);
    assert_eq!(assigner.checkpoint_complete(4).unwrap(), []);
    assert_eq!(completed(&mut assigner, 1, 4), []);
    let parts = vec![chunk("T", 0, 10), chunk("T", 10, 20), chunk("T", 20, 30)];
    let actions = assigner.cut(parts).unwrap();
    assert_eq!(actions, [assign(1, Split::Chunk(chunk("T", 0, 10)))]);
    // Whatever it sends, it was polled behind its barrier.
    let actions = report(&mut assigner, 2, finished("T", 0, 10, 5));
    assert_eq!(actions, [assign(2, Split::Chunk(chunk("T", 10, 20)))]);
    // A reader that starts anew is there, whatever was complete before.
    assert_eq!(assigner.add_splits_back(Vec::new(), 0).unwrap(), []);
    assigner.register(0).unwrap();
    let actions = assigner.event(0, ToEnumerator::Request).unwrap();
    assert_eq!(actions, [assign(0, Split::Chunk(chunk("T", 20, 30)))]);
}

#[test]
fn a_reader_that_goes_on_is_a_notice_too() {
    let mut assigner = reported(settings(2));
    assigner.snapshot(1);
    // The coordinator's own notice was lost, or is on its way.
    let actions = completed(&mut assigner, 0, 1);
    assert_eq!(actions[0], acknowledge(0, finished("T", 0, 10, 5)));
    assert_eq!(streams(&actions).len(), 1);
    // It says nothing of the other reader.
    assert_eq!(actions[2..], [no_more(0)]);
    assert_eq!(assigner.checkpoint_complete(1).unwrap(), []);
    let actions = completed(&mut assigner, 1, 1);
    assert_eq!(actions, [acknowledge(1, finished("T", 10, END, 7)), no_more(1)]);
}
