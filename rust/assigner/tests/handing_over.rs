//! What readers are told in groups, and what a restore goes on with.

use super::*;

#[test]
fn ranges_go_out_in_groups_below_a_frame() {
    let mut assigner = streaming(2);
    let ranges = |assigner: &mut Assigner, have| {
        let mut actions = assigner.event(0, ToEnumerator::Missing { have }).unwrap();
        match actions.pop() {
            Some(Action::Send {
                subtask: 0,
                event: ToReader::Ranges { first, ranges },
            }) => (first, ranges),
            other => panic!("{other:?}"),
        }
    };
    let both = [finished("T", 0, 10, 5), finished("T", 10, END, 7)];
    assert_eq!(ranges(&mut assigner, 0), (0, both.to_vec()));
    assigner.settings.group_ranges = 1;
    assert_eq!(ranges(&mut assigner, 0), (0, both[..1].to_vec()));
    assert_eq!(ranges(&mut assigner, 1), (1, both[1..].to_vec()));
    assigner.settings.group_ranges = 1000;
    assigner.settings.group_bytes = both[0].size_bound() + both[1].size_bound() - 1;
    assert_eq!(ranges(&mut assigner, 0), (0, both[..1].to_vec()));
    assigner.settings.group_bytes = 1;
    assert_eq!(ranges(&mut assigner, 1), (1, both[1..].to_vec()));
    // Who does not have the stream split, or has more ranges than there are, is told apart.
    assert!(assigner.event(1, ToEnumerator::Missing { have: 0 }).is_err());
    assert!(assigner.event(0, ToEnumerator::Missing { have: 2 }).is_err());
    let mut before = cut_in_two(settings(2));
    assert_eq!(before.event(0, ToEnumerator::Missing { have: 0 }).unwrap(), []);
}

#[test]
fn an_event_with_ranges_is_no_larger_than_its_bound() {
    let mut open = finished("T", 0, END, u64::MAX);
    let mut slot = finished("A_LONG_NAME", 7, 9, 8);
    slot.point = Point::Snapshot {
        snapshot: crate::position::TransactionSnapshot {
            xmin: crate::position::Xid(u64::MAX),
            xmax: crate::position::Xid(u64::MAX),
            open: vec![crate::position::Xid(u64::MAX); 300].into(),
        },
        high: crate::position::Lsn(u64::MAX),
    };
    open.mine_from = Scn(u64::MAX);
    for range in [open, slot, finished("T", 7, 9, 8)] {
        let bytes = ToEnumerator::Report(range.clone()).encode().len();
        assert!(bytes <= range.size_bound() + 2, "{bytes} bytes");
    }
}

#[test]
fn after_a_restore_everything_is_firm_and_cutting_goes_on() {
    let mut assigner = Assigner::new(settings(2));
    assigner.start_tables(vec![name("T"), name("U")], None).unwrap();
    assigner.set_incarnation(Incarnation(7)).unwrap();
    assigner.cut(vec![chunk("T", 0, 10), chunk("T", 10, 20)]).unwrap();
    assigner.register(0).unwrap();
    assigner.event(0, ToEnumerator::Request).unwrap();
    report(&mut assigner, 0, finished("T", 0, 10, 5));
    let state = assigner.snapshot(1);
    let mut restored = Assigner::restore(&state, settings(3)).unwrap();
    assert_eq!(restored.snapshot(1), state);
    let progress = Progress {
        chunks: 2,
        chunks_done: 1,
        cut: false,
        ranges: 1,
        provisional: 0,
    };
    assert_eq!(restored.progress(), progress);
    assert_eq!(restored.smallest_mine_from(), Some(Scn(4)));
    let next = restored.cut_progress().unwrap();
    assert_eq!((&*next.table, next.lower), (&name("T"), bounds(20, END).lower));
    restored.register(2).unwrap();
    let again = report(&mut restored, 2, finished("T", 0, 10, 5));
    assert_eq!(again, [acknowledge(2, finished("T", 0, 10, 5))]);
    let actions = restored.event(2, ToEnumerator::Request).unwrap();
    assert_eq!(actions, [assign(2, Split::Chunk(chunk("T", 10, 20)))]);
    // Another log would make nonsense of the points.
    assert!(matches!(
        restored.set_incarnation(Incarnation(8)).unwrap_err().kind(),
        ErrorKind::State(_)
    ));
    restored.set_incarnation(Incarnation(7)).unwrap();
}

#[test]
fn a_restored_gate_opens_at_the_registration() {
    let mut assigner = reported(settings(2));
    let mut restored = Assigner::restore(&assigner.snapshot(1), settings(2)).unwrap();
    assert!(!restored.is_streaming());
    assert_eq!(streams(&restored.register(1).unwrap())[0].0, 1);
    assert_eq!(restored.register(0).unwrap(), [no_more(0)]);
}

#[test]
fn a_restored_stream_is_served_wherever_it_is() {
    let mut restored = Assigner::restore(&streaming(2).snapshot(2), settings(3)).unwrap();
    assert!(restored.is_streaming());
    restored.register(2).unwrap();
    let actions = restored.event(2, ToEnumerator::Missing { have: 1 }).unwrap();
    let event = ToReader::Ranges {
        first: 1,
        ranges: vec![finished("T", 10, END, 7)],
    };
    assert_eq!(actions, [Action::Send { subtask: 2, event }]);
    restored.register(1).unwrap();
    assert!(restored.event(1, ToEnumerator::Missing { have: 1 }).is_err());
}

#[test]
fn checkpointing_that_cannot_end_the_snapshot_is_refused_at_start_and_restore() {
    let cases = [
        (Checkpointing::Unaligned, "execution.checkpointing.unaligned.enabled"),
        (Checkpointing::None, "execution.checkpointing.interval"),
    ];
    let mut unfinished = cut_in_two(settings(1));
    for (checkpointing, option) in cases {
        let refused = [
            Assigner::new(Settings::new(2, checkpointing)).start_tables(vec![name("T")], None),
            Assigner::restore(&unfinished.snapshot(1), Settings::new(2, checkpointing)).map(|_| ()),
        ];
        for result in refused {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(option) && !error.is_retryable(), "{error}");
        }
        // A single reader may, and so may whoever has its snapshot behind it.
        let mut alone = Assigner::new(Settings::new(1, checkpointing));
        alone.start_tables(vec![name("T")], None).unwrap();
        Assigner::restore(&unfinished.snapshot(1), Settings::new(1, checkpointing)).unwrap();
        Assigner::restore(&streaming(2).snapshot(1), Settings::new(2, checkpointing)).unwrap();
        Assigner::restore(&reported(settings(2)).snapshot(1), Settings::new(2, checkpointing)).unwrap();
        // The same once the start is decided after the restore.
        let undecided = Assigner::new(settings(2)).snapshot(1);
        let mut restored = Assigner::restore(&undecided, Settings::new(2, checkpointing)).unwrap();
        assert!(restored.start_tables(vec![name("T")], None).is_err());
    }
    assert!(Assigner::new(settings(2)).start_tables(Vec::new(), None).is_err());
}
