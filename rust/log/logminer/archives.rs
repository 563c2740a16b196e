//! Which archived files cover a range of the log, and whether it is still there.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::source::{Archive, bytes};
use crate::position::Scn;

/// The archived files of a log at one moment: in log order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archives {
    files: Vec<Archive>,
}

impl Archives {
    /// Orders what the database lists. Copies of one file in several destinations are kept once: the one that reaches
    /// farthest, since another may lag behind while the file is written.
    pub fn new(files: Vec<Archive>) -> Self {
        Archives::avoiding(files, &HashSet::new())
    }

    /// The same, but of several copies one that can be read, by what is known of their paths.
    pub fn avoiding(mut files: Vec<Archive>, unreadable: &HashSet<String>) -> Self {
        for file in &mut files {
            // A file without any record yet reaches as far as the one before it.
            file.last = file.last.max(file.previous);
        }
        let place = |file: &Archive| (file.previous, file.first, file.sequence);
        files.sort_by(|a, b| {
            place(a)
                .cmp(&place(b))
                .then_with(|| unreadable.contains(&a.path).cmp(&unreadable.contains(&b.path)))
                .then_with(|| (b.last, b.bytes).cmp(&(a.last, a.bytes)))
                .then_with(|| a.path.cmp(&b.path))
        });
        files.dedup_by(|next, kept| next.path == kept.path || place(next) == place(kept));
        Archives { files }
    }

    /// All files, in log order.
    pub fn files(&self) -> &[Archive] {
        &self.files
    }

    /// How far the files can be mined.
    pub fn end(&self) -> Scn {
        self.files.iter().map(|file| file.last).max().unwrap_or_default()
    }

    /// The files from the one that holds `needed` on, without a hole. A position is still there if some kept file's
    /// previous scn is at or below it.
    ///
    /// # Errors
    /// `LogGone` naming the first missing file's neighbours.
    pub fn from(&self, needed: Scn) -> Result<&[Archive]> {
        let skipped = self
            .files
            .iter()
            .position(|file| file.last >= needed)
            .unwrap_or_else(|| self.files.len().saturating_sub(1));
        let files = self.files.get(skipped..).unwrap_or_default();
        let Some(first) = files.first() else {
            return Err(self.gone(needed, "no archived file is listed".into()));
        };
        if first.previous > needed {
            let before = skipped.checked_sub(1).and_then(|nth| self.files.get(nth));
            return Err(self.gone(
                needed,
                match before {
                    Some(before) => hole(before, first),
                    None => format!("what comes before file '{}' is missing", first.path),
                },
            ));
        }
        let mut reach = first;
        for file in files {
            if file.previous > reach.last {
                return Err(self.gone(Scn(reach.last.0 + 1), hole(reach, file)));
            }
            if file.last >= reach.last {
                reach = file;
            }
        }
        Ok(files)
    }

    /// The first scn from which on the log is kept without a hole.
    ///
    /// # Errors
    /// `LogGone` if no file is listed.
    pub fn earliest(&self) -> Result<Scn> {
        let mut files = self.files.iter();
        let Some(mut first) = files.next() else {
            return Err(self.gone(Scn(0), "no archived file is listed".into()));
        };
        let mut reach = first.last;
        for file in files {
            if file.previous > reach {
                first = file;
            }
            reach = reach.max(file.last);
        }
        // Of the scn before, a part may stand in the file before.
        Ok(Scn(first.previous.0 + 1))
    }

    /// Bytes of the files that lie wholly before `needed`: what may be deleted before it is missed.
    pub fn headroom(&self, needed: Scn) -> u64 {
        bytes(self.parted(needed).0)
    }

    /// Bytes of all other files: what `needed` holds.
    pub fn bytes_from(&self, needed: Scn) -> u64 {
        bytes(self.parted(needed).1)
    }

    fn parted(&self, needed: Scn) -> (&[Archive], &[Archive]) {
        let before = self.files.iter().take_while(|file| file.last < needed);
        let count = before.count().min(self.files.len().saturating_sub(1));
        self.files.split_at(count)
    }

    /// The files that hold records from `first` to `last`, both inclusive.
    pub fn range(&self, first: Scn, last: Scn) -> impl Iterator<Item = &Archive> {
        self.files
            .iter()
            .filter(move |file| file.last >= first && file.first <= last)
    }

    fn gone(&self, needed: Scn, detail: String) -> Error {
        ErrorKind::LogGone {
            needed,
            oldest: self.files.first().map(|file| file.first),
            detail,
        }
        .into()
    }
}

fn hole(before: &Archive, after: &Archive) -> String {
    format!(
        "between file '{}', which ends at {}, and file '{}', which follows {}, one is missing",
        before.path, before.last, after.path, after.previous
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, previous: u64, first: u64, last: u64) -> Archive {
        Archive {
            path: path.into(),
            first: Scn(first),
            last: Scn(last),
            previous: Scn(previous),
            sequence: previous,
            bytes: 100,
            active: false,
        }
    }

    fn paths(files: &[Archive]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn files_are_chosen_by_position() {
        let kept = Archives::new(vec![file("c", 20, 21, 30), file("a", 0, 1, 10), file("b", 10, 11, 20)]);
        assert_eq!(paths(kept.from(Scn(15)).unwrap()), ["b", "c"]);
        assert_eq!(paths(kept.from(Scn(11)).unwrap()), ["b", "c"]);
        assert_eq!(
            paths(kept.from(Scn(10)).unwrap()),
            ["a", "b", "c"],
            "an scn may lie in two files"
        );
        assert_eq!(
            paths(kept.from(Scn(99)).unwrap()),
            ["c"],
            "the log has not come that far"
        );
        assert_eq!(kept.end(), Scn(30));
    }

    #[test]
    fn a_position_is_there_if_a_kept_file_follows_it() {
        let kept = Archives::new(vec![file("b", 10, 12, 20)]);
        assert!(kept.from(Scn(10)).is_ok());
        let error = kept.from(Scn(9)).unwrap_err();
        match error.kind() {
            ErrorKind::LogGone { needed, oldest, detail } => {
                assert_eq!((*needed, *oldest), (Scn(9), Some(Scn(12))));
                assert!(detail.contains("'b'"), "{detail}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            Archives::default().from(Scn(1)).unwrap_err().kind(),
            ErrorKind::LogGone { oldest: None, .. }
        ));
    }

    #[test]
    fn a_hole_is_named_by_its_neighbours() {
        let kept = Archives::new(vec![file("a", 0, 1, 10), file("c", 20, 21, 30), file("d", 30, 31, 40)]);
        for needed in [5, 10, 15] {
            let text = kept.from(Scn(needed)).unwrap_err().to_string();
            assert!(text.contains("'a'") && text.contains("'c'"), "{text}");
        }
        assert_eq!(
            paths(kept.from(Scn(20)).unwrap()),
            ["c", "d"],
            "a hole behind us does not matter"
        );
    }

    #[test]
    fn copies_in_two_destinations_are_taken_once_and_the_farther_one_wins() {
        let mut lagging = file("/one/b", 10, 11, 15);
        lagging.active = true;
        let mut ahead = file("/two/b", 10, 11, 17);
        ahead.active = true;
        let kept = Archives::new(vec![
            file("/two/a", 0, 1, 10),
            lagging,
            file("/one/a", 0, 1, 10),
            ahead.clone(),
            ahead,
        ]);
        assert_eq!(paths(kept.files()), ["/one/a", "/two/b"]);
    }

    #[test]
    fn of_two_copies_the_one_that_can_be_read_is_taken_though_it_lags() {
        let files = vec![
            file("/one/a", 0, 1, 10),
            file("/one/b", 10, 11, 20),
            file("/two/b", 10, 11, 15),
        ];
        let unreadable = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<HashSet<_>>();
        for (bad, taken) in [
            (vec![], "/one/b"),
            (vec!["/one/b"], "/two/b"),
            (vec!["/two/b"], "/one/b"),
            // The only copy of a file stays: it may come back.
            (vec!["/one/a", "/one/b", "/two/b"], "/one/b"),
        ] {
            let kept = Archives::avoiding(files.clone(), &unreadable(&bad));
            assert_eq!(paths(kept.files()), ["/one/a", taken], "without {bad:?}");
        }
    }

    #[test]
    fn headroom_is_what_lies_wholly_before() {
        let kept = Archives::new(vec![file("a", 0, 1, 10), file("b", 10, 11, 20), file("c", 20, 21, 30)]);
        for (needed, bytes) in [
            (0, 0),
            (5, 0),
            (10, 0),
            (11, 100),
            (20, 100),
            (21, 200),
            (30, 200),
            (99, 200),
        ] {
            assert_eq!(kept.headroom(Scn(needed)), bytes, "{needed}");
        }
        assert_eq!(Archives::default().headroom(Scn(5)), 0);
    }

    #[test]
    fn the_earliest_scn_lies_behind_the_last_hole() {
        let mut files = vec![file("a", 5, 6, 10), file("b", 10, 12, 20)];
        assert_eq!(Archives::new(files.clone()).earliest().unwrap(), Scn(6));
        files.extend([file("d", 30, 31, 40), file("e", 40, 41, 50)]);
        let kept = Archives::new(files);
        assert_eq!(kept.earliest().unwrap(), Scn(31));
        assert!(kept.from(Scn(31)).is_ok() && kept.from(Scn(29)).is_err());
        assert!(Archives::default().earliest().is_err());
    }

    #[test]
    fn a_file_just_begun_is_no_hole() {
        let mut begun = file("b", 10, 0, 0);
        begun.active = true;
        assert_eq!(Archives::new(vec![begun.clone()]).end(), Scn(10));
        let kept = Archives::new(vec![begun, file("a", 0, 1, 10)]);
        assert_eq!(paths(kept.from(Scn(10)).unwrap()), ["a", "b"]);
        assert_eq!(kept.end(), Scn(10));
    }
}
