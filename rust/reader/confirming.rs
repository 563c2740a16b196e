//! Up to where the log is asked for no more, as checkpoints complete.

use std::collections::VecDeque;

use crate::position::Scn;

/// The offsets of the newest checkpoints that are known to be complete, oldest first.
#[derive(Debug, Default)]
pub(super) struct Confirming(VecDeque<Scn>);

impl Confirming {
    /// A checkpoint is complete whose state mines from `next_scn`. The place that the log may let go of is that of the one
    /// `delay` checkpoints before, since each of those behind it may still be restored; `None` as long as there is none.
    pub(super) fn completed(&mut self, next_scn: Scn, delay: usize) -> Option<Scn> {
        self.0.push_back(next_scn);
        let mut confirmed = None;
        while self.0.len() > delay {
            confirmed = self.0.pop_front();
        }
        confirmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_kept_for_the_checkpoints_of_the_delay() {
        let mut confirming = Confirming::default();
        let confirmed: Vec<Option<Scn>> = (1..=7).map(|done| confirming.completed(Scn(done), 3)).collect();
        let expected = [None, None, None, Some(1), Some(2), Some(3), Some(4)];
        assert_eq!(confirmed, expected.map(|scn| scn.map(Scn)));
        let mut at_once = Confirming::default();
        assert_eq!(at_once.completed(Scn(9), 0), Some(Scn(9)));
    }
}
