//! Random bytes, and rows with random damage: an error or an event, never a panic, never a wait.

use tidemark::log::decoding::plugin::{Plugin, Row};
use tidemark::log::decoding::plugins::AnyPlugin;

use crate::buffers::{Buffer, row};
use crate::messages::Message;

const PLUGINS: [&str; 3] = ["pgoutput", "test_decoding", "decoderbufs"];

fn seeds() -> Vec<Vec<u8>> {
    let value = Buffer::default().bytes(1, b"id").number(2, 23).number(3, 7);
    vec![
        Message::of(b'B').u64(1).u64(5).u32(77).0,
        Message::of(b'R')
            .u32(9)
            .name("s")
            .name("t")
            .raw(b"d\0\x01\x01")
            .name("id")
            .u32(23)
            .u32(0)
            .0,
        Message::of(b'U')
            .u32(9)
            .tuple(b'O', &[Some("1"), None])
            .tuple(b'N', &[Some("2"), Some("UNCHANGED")])
            .0,
        Message::of(b'M').raw(&[0]).u64(4).name("p").u32(1).raw(b"c").0,
        b"COMMIT 7 (at 2024-01-01 00:00:00.123+00)".to_vec(),
        b"table \"My Sch\".\"O\"\"L\": UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 \"a b\"[text[]]:'it''s'"
            .to_vec(),
        b"message: transactional: 1 prefix: a, sz: 2, sz: 3 content:abc".to_vec(),
        row(false, 1, std::slice::from_ref(&value), std::slice::from_ref(&value)).0,
        row(true, 0, &[Buffer::default().bytes(1, b"v").bytes(9, b"x")], &[]).0,
    ]
}

#[test]
fn no_row_is_too_broken_to_be_told() {
    let mut random = fastrand::Rng::with_seed(0x6675_7a7a);
    let seeds = seeds();
    let mut plugins = PLUGINS.map(|name| AnyPlugin::of_name(name, false).unwrap());
    let mut work = Row::default();
    for _ in 0..200_000 {
        let mut data = match random.u8(0..4) {
            0 => (0..random.usize(0..40)).map(|_| random.u8(..)).collect(),
            _ => seeds[random.usize(0..seeds.len())].clone(),
        };
        for _ in 0..random.usize(0..4) {
            let at = random.usize(0..=data.len());
            match random.u8(0..5) {
                0 => data.truncate(at),
                1 => data.insert(at, random.u8(..)),
                2 if at < data.len() => data[at] = random.u8(..),
                3 if at < data.len() => drop(data.remove(at)),
                _ => {
                    let other = &seeds[random.usize(0..seeds.len())];
                    data.extend_from_slice(&other[random.usize(0..other.len())..]);
                }
            }
        }
        for plugin in &mut plugins {
            let mut row = work.recycle();
            let _ = plugin.read(&data, &mut row);
            work = row.recycle();
        }
    }
}
