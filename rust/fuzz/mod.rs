//! A fuzzer for every parser of bytes from outside: inputs that are read rightly are damaged at random, and whatever comes of
//! them must be an error or what the bytes say. No panic, no input that takes more memory than its own length accounts for, none
//! that takes time by the square of it, no other value in silence.
//!
//! Each target stands beside its parser; [`TARGETS`] lists them, and a test finds parsers that no target names. In the usual
//! run each gets some thousand inputs from one seed. `TIDEMARK_FUZZ_SECONDS=300 cargo test --lib fuzz::` goes on for so long with
//! each, seed by seed from `TIDEMARK_SEED` on; a failure says seed and input.

#[path = "../../tests/support/allocations.rs"]
mod allocations;
mod coverage;
mod mutation;

use std::time::{Duration, Instant};

use allocations::Allocated;
use fastrand::Rng;

/// A parser under damage.
pub(crate) struct Target {
    /// What it reads.
    pub(crate) name: &'static str,
    /// The files whose reading it covers, from `rust/` on.
    pub(crate) files: &'static [&'static str],
    /// Inputs that are read rightly.
    pub(crate) corpus: fn() -> Vec<Vec<u8>>,
    /// Words of the format.
    pub(crate) words: &'static [&'static str],
    /// Reads an input and checks what came of it: panics where that is wrong, and says whether it was read at all.
    pub(crate) read: fn(&[u8]) -> bool,
    /// How many inputs in the usual run.
    pub(crate) inputs: usize,
    /// Inputs that are long by repetition: a parser that needs time by the square of their length never ends.
    pub(crate) long: usize,
    /// Bytes that may be allocated at once for each byte of the input.
    pub(crate) bytes_a_byte: usize,
    /// And besides, however short it is.
    pub(crate) bytes: usize,
}

impl Target {
    /// What most of them are.
    pub(crate) const USUAL: Target = Target {
        name: "",
        files: &[],
        corpus: Vec::new,
        words: &[],
        read: |_| false,
        inputs: 30_000,
        long: 12,
        bytes_a_byte: 200,
        bytes: 64 << 10,
    };
}

/// All of them.
pub(crate) const TARGETS: &[&[Target]] = &[
    crate::bridge::fuzz::TARGETS,
    crate::catalog::fuzz::TARGETS,
    crate::config::fuzz::TARGETS,
    crate::dialect::fuzz::TARGETS,
    crate::log::decoding::fuzz::TARGETS,
    crate::log::logminer::fuzz::TARGETS,
    crate::log::spill::fuzz::TARGETS,
    crate::odbc::fuzz::TARGETS,
    crate::row::fuzz::TARGETS,
    crate::split::fuzz::TARGETS,
];

/// How long an input grows by repetition.
const LONG: usize = 1 << 20;

/// After which an input counts as one that hangs; each takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the targets of a room.
fn run(targets: &'static [Target]) {
    let seed = std::env::var("TIDEMARK_SEED").map_or(1, |seed| seed.parse().unwrap());
    let seconds = std::env::var("TIDEMARK_FUZZ_SECONDS").map_or(0, |seconds| seconds.parse().unwrap());
    for target in targets {
        let end = Instant::now() + Duration::from_secs(seconds);
        for seed in seed.. {
            one(target, seed);
            if Instant::now() >= end {
                break;
            }
        }
    }
}

/// Says what was at hand when a test fails.
struct AtHand<'a> {
    target: &'static Target,
    seed: u64,
    input: &'a [u8],
}

impl Drop for AtHand<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let head = &self.input[..self.input.len().min(4_000)];
            eprintln!(
                "TIDEMARK_SEED={}: '{}' of {} bytes: {}",
                self.seed,
                self.target.name,
                self.input.len(),
                head.escape_ascii()
            );
        }
    }
}

/// Reads one input; panics if what comes of it is wrong, or took too much memory.
fn read(target: &'static Target, seed: u64, input: &[u8]) -> bool {
    let at_hand = AtHand { target, seed, input };
    let allocated = Allocated::begin();
    let was_read = (target.read)(input);
    let (peak, total) = (allocated.peak(), allocated.total());
    let most = target.bytes_a_byte * input.len() + target.bytes;
    assert!(peak <= most, "{peak} bytes at once for {} bytes of input", input.len());
    // What doubles is given twice; what is copied again for each piece goes beyond any multiple.
    assert!(
        total <= 4 * most,
        "{total} bytes in all for {} bytes of input",
        input.len()
    );
    drop(at_hand);
    was_read
}

/// One seed's inputs for one target.
fn one(target: &'static Target, seed: u64) {
    let (done, over) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        let begun = Instant::now();
        let mut random = Rng::with_seed(seed);
        let corpus = (target.corpus)();
        for input in &corpus {
            assert!(read(target, seed, input), "{}: {}", target.name, input.escape_ascii());
        }
        let mut pool = corpus.clone();
        let (mut was_read, mut refused) = (0, 0);
        for number in 0..target.inputs {
            let mut input = pool[random.usize(0..pool.len())].clone();
            mutation::mutate(&mut random, &mut input, &corpus, target.words);
            match read(target, seed, &input) {
                true => {
                    was_read += 1;
                    // What is still read is damaged further.
                    if input.len() < 2_000 {
                        match pool.len() < 4 * corpus.len() + 64 {
                            true => pool.push(input),
                            false => {
                                let place = random.usize(corpus.len()..pool.len());
                                pool[place] = input;
                            }
                        }
                    }
                }
                false => refused += 1,
            }
            if number % 64 == 0 {
                let _ = done.send(());
            }
        }
        for _ in 0..target.long {
            let input = repeated(&mut random, &corpus);
            read(target, seed, &input);
            let _ = done.send(());
        }
        let seconds = begun.elapsed().as_secs_f32();
        println!("{}: {was_read} read, {refused} refused in {seconds:.1} s", target.name);
        assert!(
            was_read * 50 > target.inputs && refused * 50 > target.inputs,
            "{}: {was_read} read, {refused} refused: noise alone",
            target.name
        );
    });
    loop {
        match over.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                // It cannot be ended; the process can.
                eprintln!("TIDEMARK_SEED={seed}: '{}' hangs", target.name);
                std::process::abort();
            }
        }
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}

/// An input with one of its pieces repeated until it is long.
fn repeated(random: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let of = &corpus[random.usize(0..corpus.len())];
    let start = random.usize(0..=of.len());
    let end = (start + random.usize(1..24)).min(of.len());
    let piece = match &of[start..end] {
        [] => b"(",
        piece => piece,
    };
    let times = LONG / piece.len();
    [&of[..start], &piece.repeat(times), &of[end..]].concat()
}

#[test]
fn bytes_from_the_bridge() {
    run(crate::bridge::fuzz::TARGETS);
}

#[test]
fn keys_statements_and_patterns() {
    run(crate::catalog::fuzz::TARGETS);
}

#[test]
fn options() {
    run(crate::config::fuzz::TARGETS);
}

#[test]
fn what_servers_say_of_themselves() {
    run(crate::dialect::fuzz::TARGETS);
}

#[test]
fn rows_of_slots() {
    run(crate::log::decoding::fuzz::TARGETS);
}

#[test]
fn rows_of_mining_and_redo_texts() {
    run(crate::log::logminer::fuzz::TARGETS);
}

#[test]
fn spilled_frames() {
    run(crate::log::spill::fuzz::TARGETS);
}

#[test]
fn connection_strings_and_messages() {
    run(crate::odbc::fuzz::TARGETS);
}

#[test]
fn values() {
    run(crate::row::fuzz::TARGETS);
}

#[test]
fn state() {
    run(crate::split::fuzz::TARGETS);
}
