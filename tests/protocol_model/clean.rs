//! With all rules kept, no seed of any kind of job loses, doubles or hangs.

use tidemark::assigner::Assigner;

use crate::enumerator::{Both, Enumerator};
use crate::world::{Config, Met};
use crate::{bounded, bounded_alone, grown, rough, run};

/// Seeds a kind of job.
const SEEDS: u64 = 2000;

fn clean<E: Enumerator<Rules = ()>>(config: Config) {
    let mut met = Met::default();
    for seed in 0..SEEDS {
        let (result, of_run) = run::<E>(&config, &(), seed);
        if let Err(failure) = result {
            panic!("seed {seed}: {}", failure.0);
        }
        met.add(&of_run);
    }
    println!("{met:?}");
    let often = SEEDS as usize / 100;
    assert!(met.resets > often && met.empty_lists > often && met.global_restores > often);
    assert!(met.streams_opened >= SEEDS as usize && met.streams_back > often);
    assert!(met.resets_not_notified > often || !config.checkpoints);
    assert!(met.stops > often || !config.checkpoints);
    assert!(met.rescaled > often || config.parallelism.is_some());
}

macro_rules! kinds {
    ($($name:ident: $config:expr;)*) => {
        $(
            #[test]
            fn $name() {
                clean::<Assigner>($config);
            }
        )*
    };
}

kinds! {
    any_job: Config::default();
    one_reader: Config { parallelism: Some(1), ..Config::default() };
    two_readers: Config { parallelism: Some(2), ..Config::default() };
    three_readers: Config { parallelism: Some(3), ..Config::default() };
    four_readers: Config { parallelism: Some(4), ..Config::default() };
    many_checkpoints_and_small_groups: Config { first_parallelism: None, ..rough() };
    from_one_reader_rescaled: rough();
    from_one_reader_rescaled_with_lost_notices: grown();
    storm: Config { failures: 3.0, ..Config::default() };
    storm_bounded: Config { failures: 3.0, ..bounded() };
    bounded_job: bounded();
    bounded_with_one_reader: Config { parallelism: Some(1), ..bounded() };
    bounded_with_one_reader_and_no_checkpoints: bounded_alone();
    bounded_from_one_reader_rescaled_with_lost_notices: Config { bounded: true, ..grown() };
    three_tables: Config { tables: 3, ..Config::default() };
    two_tables_in_rough_times: Config { tables: 2, ..rough() };
    two_tables_bounded: Config { tables: 2, ..bounded() };
    stream_only: Config { stream_only: true, ..Config::default() };
    stream_only_bounded: Config { stream_only: true, ..bounded() };
}

#[test]
fn the_literal_enumerator_answers_as_the_real_one() {
    clean::<Both>(Config::default());
    clean::<Both>(Config {
        tables: 2,
        bounded: true,
        ..rough()
    });
    clean::<Both>(bounded_alone());
    clean::<Both>(grown());
}
