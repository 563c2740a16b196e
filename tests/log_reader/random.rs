//! Random schedules of transactions, cut into files, windows and restarts at random.

use std::sync::Arc;

use tidemark::log::Opening;
use tidemark::log::logminer::reader::openings as start_of;
use tidemark::log::spill::Spilling;

use super::scripted_log::RowOrder;
use super::*;

/// Xorshift: the same numbers for the same seed, for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A change that the transaction may still take back.
struct Done {
    line: usize,
    row: String,
    place: String,
    inverse: (i32, u64, String),
}

struct Active {
    xid: u64,
    start: u64,
    done: Vec<Done>,
    rows: Vec<(u64, String)>,
    savepoints: Vec<usize>,
    /// Records by (scn, table, rs_id), to count those alike.
    names: Vec<(u64, u64, String)>,
    next_row: u64,
}

/// A log and what a reader must make of it.
struct World {
    random: Random,
    lines: Vec<Line>,
    scn: u64,
    flagged: bool,
    same_names: bool,
    active: Vec<Active>,
    expected: Vec<Seen>,
    commits_at: (u64, u32),
    last_xid: u64,
}

impl World {
    fn tick(&mut self) -> u64 {
        self.scn += [0, 0, 1, 1, 3][self.random.below(5) as usize];
        self.scn
    }

    fn emit(&mut self, nth: usize, code: i32, id: u64, text: &str, marked: bool) -> (usize, String) {
        let scn = self.tick();
        let same = self.same_names;
        let transaction = &mut self.active[nth];
        let rs_id = if same {
            "0".into()
        } else {
            format!("{}", transaction.names.len() / 2)
        };
        let name = (scn, 7, rs_id.clone());
        let alike = transaction.names.iter().filter(|other| **other == name).count();
        transaction.names.push(name);
        let line = Line {
            rs_id: rs_id.clone(),
            roll_back: marked,
            ..Line::dml(scn, transaction.xid, code, &format!("R{id}"), text)
        };
        let at = self.lines.len();
        if self.random.chance(20) && text.len() > 3 {
            let cut = 1 + self.random.below(text.len() as u64 - 1) as usize;
            for (ssn, piece) in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]]
                .into_iter()
                .enumerate()
            {
                self.lines.push(Line {
                    redo: Some(piece.to_vec()),
                    ssn: ssn as u32,
                    continued: ssn == 0,
                    ..line.clone()
                });
            }
        } else {
            self.lines.push(line);
        }
        (at, format!("{scn}/7/{rs_id}/0/{alike}"))
    }

    fn begin(&mut self) {
        self.last_xid += 1;
        let scn = self.tick();
        self.lines.push(start(scn, self.last_xid));
        self.active.push(Active {
            xid: self.last_xid,
            start: scn,
            done: Vec::new(),
            rows: Vec::new(),
            savepoints: Vec::new(),
            names: Vec::new(),
            next_row: self.last_xid * 1000,
        });
    }

    fn change(&mut self, nth: usize) {
        let value = format!("v{}é''", self.random.below(1000));
        let shown = value.replace("''", "'");
        let show = |value: &str| value.replace("''", "'");
        let kind = self.random.below(3);
        if self.active[nth].rows.is_empty() || kind == 0 {
            let id = self.active[nth].next_row;
            self.active[nth].next_row += 1;
            let (line, place) = self.emit(nth, 1, id, &insert(id, &value), false);
            self.active[nth].done.push(Done {
                line,
                row: format!("->{id}={shown}"),
                place,
                inverse: (2, id, delete(id, &value)),
            });
            self.active[nth].rows.push((id, value));
            return;
        }
        let row = self.random.below(self.active[nth].rows.len() as u64) as usize;
        let (id, old) = self.active[nth].rows[row].clone();
        if kind == 1 {
            let (line, place) = self.emit(nth, 3, id, &update(id, &old, &value), false);
            self.active[nth].done.push(Done {
                line,
                row: format!("{id}={}>{id}={shown}", show(&old)),
                place,
                inverse: (3, id, update(id, &value, &old)),
            });
            self.active[nth].rows[row].1 = value;
        } else {
            let (line, place) = self.emit(nth, 2, id, &delete(id, &old), false);
            self.active[nth].done.push(Done {
                line,
                row: format!("{id}={}>-", show(&old)),
                place,
                inverse: (1, id, insert(id, &old)),
            });
            self.active[nth].rows.remove(row);
        }
    }

    fn take_back(&mut self, nth: usize, to: usize) {
        let end = self.lines.len().saturating_sub(1);
        while self.active[nth].done.len() > to {
            let done = self.active[nth].done.pop().unwrap();
            let (code, id, text) = done.inverse;
            if self.flagged {
                for line in &mut self.lines[done.line..] {
                    line.undone_by = Some(end);
                    if !line.continued {
                        break;
                    }
                }
            } else {
                self.emit(nth, code, id, &text, true);
            }
            let rows = &mut self.active[nth].rows;
            rows.retain(|row| row.0 != id);
            if code != 2 {
                // The old value stands behind `"V" = '` of an update, or is the insert's.
                let value = match code {
                    3 => text
                        .split("SET \"V\" = '")
                        .nth(1)
                        .unwrap()
                        .split("' WHERE")
                        .next()
                        .unwrap(),
                    _ => text
                        .split(&format!("VALUES({id}, '"))
                        .nth(1)
                        .unwrap()
                        .strip_suffix("')")
                        .unwrap(),
                };
                rows.push((id, value.into()));
            }
        }
    }

    fn finish(&mut self, nth: usize) {
        if self.random.chance(20) {
            if self.random.chance(70) {
                self.take_back(nth, 0);
            }
            let scn = self.tick();
            let ended = self.active.remove(nth);
            self.lines.push(rollback(scn, ended.xid));
            return;
        }
        let mut code = 7;
        if self.random.chance(10) {
            let scn = self.tick();
            let xid = self.active[nth].xid;
            self.lines.push(Line::new(scn, xid, 15));
            code = 38;
        }
        let scn = self.tick();
        let ended = self.active.remove(nth);
        self.lines.push(Line::new(scn, ended.xid, code));
        let number = if self.commits_at.0 == scn { self.commits_at.1 } else { 0 };
        self.commits_at = (scn, number + 1);
        if ended.done.is_empty() {
            return;
        }
        self.expected.push(Seen {
            xid: ended.xid,
            commit: (scn, number),
            rows: ended.done.iter().map(|done| done.row.clone()).collect(),
            places: ended.done.iter().map(|done| done.place.clone()).collect(),
            next_scn: self.active.iter().map(|open| open.start).min().unwrap_or(scn),
        });
    }

    fn step(&mut self) {
        if self.active.is_empty() || (self.active.len() < 6 && self.random.chance(15)) {
            return self.begin();
        }
        let nth = self.random.below(self.active.len() as u64) as usize;
        match self.random.below(100) {
            0..60 => self.change(nth),
            60..70 => {
                let done = self.active[nth].done.len();
                self.active[nth].savepoints.push(done);
            }
            70..80 => {
                if let Some(to) = self.active[nth].savepoints.pop() {
                    self.take_back(nth, to);
                }
            }
            80..85 => {
                let scn = self.tick();
                let xid = self.active[nth].xid;
                self.lines.push(Line {
                    table: "OTHER",
                    ..Line::dml(scn, xid, 1, "R", "INSERT")
                });
            }
            _ => self.finish(nth),
        }
    }
}

/// A budget that few transactions, some or all fit into.
fn budget(random: &mut Random) -> Arc<Spilling> {
    let folders = spill::folders();
    match random.below(10) {
        0 => Spilling::new(random.below(500) as usize, folders),
        1 => Spilling::new(random.below(5_000) as usize, folders),
        2 | 3 => Spilling::new(random.below(50_000) as usize, folders),
        _ => Spilling::unlimited(),
    }
}

/// One schedule, read whole, then with restarts: the same transactions, numbers, changes and places.
pub fn run(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let flagged = random.chance(30);
    let mut world = World {
        flagged,
        same_names: random.chance(50),
        lines: Vec::new(),
        scn: 10,
        active: Vec::new(),
        expected: Vec::new(),
        commits_at: (0, 0),
        last_xid: 0,
        random,
    };
    let steps = 20 + world.random.below(150);
    for _ in 0..steps {
        world.step();
    }
    let World {
        lines,
        mut random,
        expected,
        scn,
        ..
    } = world;
    let count = lines.len() as u64;
    let files: Vec<usize> = (0..random.below(12))
        .map(|_| 1 + random.below(count / 3 + 1) as usize)
        .collect();
    let mut left = lines.len();
    let files: Vec<usize> = files
        .into_iter()
        .take_while(|&size| (left > size).then(|| left -= size).is_some())
        .collect();
    let log = ScriptedLog::new(lines, files);
    if random.chance(40) {
        log.script().order = RowOrder::Contiguous;
    }
    let settings = Settings {
        window_bytes: 1 + random.below(count * 15),
        fragment: FragmentLimit {
            rows: 1 + random.below(8) as usize,
            bytes: 1 + random.below(4000) as usize,
        },
        undo: if flagged { Form::Flagged } else { Form::Unknown },
        // From a file for every record to none at all.
        spilling: budget(&mut random),
        ..Settings::default()
    };
    // Among the records of one scn a view with transactions one after the other may show an end too late, so that more
    // than needed is mined again; never less.
    let contiguous = log.script().order == RowOrder::Contiguous;
    let same = |seen: &[Seen], expected: &[Seen], what: &str| {
        let mut seen = seen.to_vec();
        for (seen, expected) in seen.iter_mut().zip(expected) {
            if contiguous && seen.next_scn < expected.next_scn {
                seen.next_scn = expected.next_scn;
            }
        }
        assert_eq!(seen, expected, "seed {seed} {what}");
    };
    let grow = |random: &mut Random| {
        let mut script = log.script();
        script.archived = if random.chance(30) {
            count
        } else {
            1 + random.below(count)
        } as usize;
        script.growth = random.below(20) as usize;
    };
    let all = |reader: &mut LogMinerReader<ScriptedLog>| {
        let mut seen = Vec::new();
        loop {
            let read = read(reader);
            assert!(read.error.is_none(), "seed {seed}: {:?}", read.error);
            seen.extend(read.transactions);
            let mut script = log.script();
            if script.archived == count as usize {
                return seen;
            }
            script.archived += 1;
        }
    };
    grow(&mut random);
    let mut reader = open_with(&log, at(0, 0), settings.clone());
    let seen = all(&mut reader);
    same(&seen, &expected, "read whole");
    if !flagged {
        let script = log.script();
        files::check_windows(
            &script.calls,
            &script.bytes,
            settings.window_bytes,
            &format!("seed {seed}"),
        );
    }
    // A restart from where a reader stood, without the files that it had read whole and needs no more.
    let archived = 1 + random.below(count) as usize;
    (log.script().archived, log.script().growth) = (archived, 0);
    let mut reader_before = open_with(&log, at(0, 0), settings.clone());
    let mut seen = read(&mut reader_before).transactions;
    let stood = reader_before.progress();
    let is_idle = reader_before.figures().open_transactions == 0;
    let purged = {
        let script = log.script();
        let mut behind = 0;
        let ends = script.files.iter().map(|size| {
            behind += size;
            behind
        });
        // The file that ends with the START of one that is open is needed.
        let needed = stood.next_scn.0 + u64::from(is_idle);
        let may_go = |end: usize| end <= archived && script.lines[end - 1].scn < needed;
        ends.take_while(|&end| may_go(end)).count()
    };
    (log.script().purged, log.script().archived) = (purged, count as usize);
    let opening = Opening {
        mine_from: stood.next_scn,
        position: stood.position,
    };
    seen.extend(all(&mut open_with(&log, opening, settings.clone())));
    same(&seen, &expected, &format!("without {purged} files, from {opening:?}"));
    log.script().purged = 0;
    // A file in two destinations, of which one has lost it or lags.
    if !log.script().files.is_empty() && random.chance(50) {
        let mut script = log.script();
        let nth = random.below(script.files.len() as u64) as usize;
        let path = format!("file{nth}");
        let lost = random.below(3);
        let lagging = if lost == 0 {
            0
        } else {
            random.below(script.files[nth] as u64) as usize
        };
        script.lost = match lost {
            0 => vec![path.clone()],
            1 => vec![format!("copy/{path}")],
            _ => Vec::new(),
        };
        script.copies = vec![(path, lagging)];
    }
    assert_eq!(reader.progress().complete_to, Some(Scn(scn)), "seed {seed}: to the end");
    // A restart behind any transaction, from the place that its COMMIT names, goes on with the next one.
    for (nth, before) in expected.iter().enumerate() {
        if !random.chance(25) {
            continue;
        }
        grow(&mut random);
        let commit = CommitPosition {
            scn: Scn(before.commit.0),
            nth: before.commit.1,
        };
        let opening = Opening {
            mine_from: Scn(before.next_scn),
            position: Position::after(commit),
        };
        let seen = all(&mut open_with(&log, opening, settings.clone()));
        same(&seen, &expected[nth + 1..], &format!("behind {nth}"));
    }
    // Opened at any place: what commits from there on comes whole, though it began before.
    let place = random.below(scn + 2);
    grow(&mut random);
    let seen = all(&mut open_with(&log, at(place, place), settings.clone()));
    let first = expected
        .iter()
        .position(|seen| seen.commit.0 >= place)
        .unwrap_or(expected.len());
    let plain = |seen: &[Seen]| {
        let seen = seen.iter();
        seen.map(|seen| (seen.xid, seen.commit, seen.rows.clone(), seen.places.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(plain(&seen), plain(&expected[first..]), "seed {seed} from {place}");
    // From the first commit of any time on: clocks are not as even as scns.
    log.script().archived = count as usize;
    let clock = |seconds: u64| format!("2026-01-02 03:{:02}:{:02}", seconds / 60, seconds % 60);
    let mut since = None;
    let asked = 10 + random.below(2 * scn);
    for line in &mut log.script().lines {
        let seconds = 20 + 2 * line.scn + random.below(3);
        line.time = clock(seconds);
        if matches!(line.code, 7 | 38) && seconds >= asked && since.is_none() {
            since = Some(line.xid);
        }
    }
    log.script().times = (0..=scn).map(|scn| (clock(20 + 2 * scn), scn)).collect();
    log.script().times.insert(0, (clock(0), 0));
    let millis = openings::THREE + 1000 * asked as i64;
    let opening = start_of::at_time(log.clone(), settings.clone(), millis).unwrap();
    let seen = all(&mut open_with(&log, opening, settings.clone()));
    let commit_of = |xid: u64| {
        let script = log.script();
        let place = |line: &Line| matches!(line.code, 7 | 38) && line.xid == xid;
        script.lines.iter().position(place).unwrap()
    };
    let first = since.map_or(expected.len(), |since| {
        let since = commit_of(since);
        expected.iter().take_while(|seen| commit_of(seen.xid) < since).count()
    });
    assert_eq!(plain(&seen), plain(&expected[first..]), "seed {seed} since {asked} s");
    // All that is whole in what a purge leaves.
    log.script().lost.clear();
    let gone = random.below(log.script().files.len() as u64 + 1) as usize;
    log.script().purged = gone;
    let opening = start_of::earliest(&mut log.clone()).unwrap();
    let settings = Settings {
        on_lost_start: OnFault::Skip,
        ..settings
    };
    let seen = all(&mut open_with(&log, opening, settings));
    let starts = |seen: &&Seen| {
        let script = log.script();
        let start = script.lines.iter().find(|line| line.code == 6 && line.xid == seen.xid);
        start.unwrap().scn >= opening.mine_from.0
    };
    let whole: Vec<Seen> = expected.iter().filter(starts).cloned().collect();
    assert_eq!(plain(&seen), plain(&whole), "seed {seed} without {gone} files");
}
