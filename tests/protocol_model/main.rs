//! A random model of Flink's checkpoint protocol around the real assigner and the real state of readers (design 5). Every
//! split, event and state goes through its wire form. `clean` runs it on jobs of many kinds; `bites` proves that it would
//! notice: whatever rule is broken, by the driver or in a literal copy of the enumerator, the model fails within its seeds.

mod bites;
mod clean;
mod enumerator;
mod literal;
mod random;
mod reader;
mod rules;
mod world;

use enumerator::Enumerator;
use world::{Config, Failure, Met, World};

fn run<E: Enumerator>(config: &Config, rules: &E::Rules, seed: u64) -> (Result<(), Failure>, Met) {
    let mut world = World::<E>::new(seed, config.clone(), rules.clone());
    let result = world.run();
    (result, world.met)
}

/// Readers die, single or all, jobs are rescaled, checkpoints come often, the stream gets its ranges one by one.
fn rough() -> Config {
    Config {
        first_parallelism: Some(1),
        failures: 2.0,
        global_restores: 2.0,
        group: 1,
        extra_checkpoints: 0.12,
        ..Config::default()
    }
}

/// The snapshot alone: the stream ends at the largest point.
fn bounded() -> Config {
    Config {
        bounded: true,
        ..Config::default()
    }
}

/// One reader, without checkpoints.
fn bounded_alone() -> Config {
    Config {
        checkpoints: false,
        parallelism: Some(1),
        ..bounded()
    }
}

/// Begun by one reader, whose ranges need not be firm, then rescaled; most notices are lost.
fn grown() -> Config {
    Config {
        first_parallelism: Some(1),
        global_restores: 2.0,
        group: 1,
        extra_checkpoints: 0.05,
        checkpoints_after_resets: 0.8,
        lost_notices: 0.9,
        ..Config::default()
    }
}
