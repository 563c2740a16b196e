//! The warning before log is lost that a restart needs: said once, and again only after there was room enough meanwhile.

use crate::log::Headroom;
use crate::reader::worker::Worker;

/// Whether the headroom of the log fell short of what is wanted.
#[derive(Debug)]
pub(super) struct Shortage {
    /// `log.headroom.warn`, in bytes.
    limit: u64,
    told: bool,
}

impl Shortage {
    pub(super) fn of(limit: u64) -> Self {
        Shortage { limit, told: false }
    }

    /// Takes the headroom of now; what is to be said of it, if anything. There is room enough again a quarter above the limit:
    /// a headroom that goes to and fro around it is one shortage.
    fn tell(&mut self, headroom: Headroom) -> Option<String> {
        let bytes = headroom.bytes();
        if bytes >= self.limit.saturating_add(self.limit / 4) {
            self.told = false;
        }
        if bytes >= self.limit || std::mem::replace(&mut self.told, true) {
            return None;
        }
        let means = match headroom {
            Headroom::Files(_) => {
                "so many bytes of log files may be deleted before a restart from the newest completed checkpoint misses some. \
                 Keep archives longer, let checkpoints complete, end transactions that stay open (oldestTransactionScn), and \
                 look for what slows the job down"
            }
            Headroom::Slot(_) => {
                "so many bytes of log may be written before the server may take some away that the slot needs. Let the job catch \
                 up and its checkpoints complete, raise max_slot_wal_keep_size, and look for what slows the job down"
            }
        };
        Some(format!(
            "the log's headroom is {bytes} bytes, and log.headroom.warn is {}: {means}",
            self.limit
        ))
    }
}

impl Worker {
    /// Notes how far the log is from losing what is needed.
    pub(super) fn note_headroom(&mut self, headroom: Option<Headroom>) {
        self.shared.note_headroom(headroom);
        if let Some(text) = headroom.and_then(|headroom| self.headroom.tell(headroom)) {
            log::warn!("{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortage_is_told_once_and_a_wavering_headroom_is_one() {
        let mut shortage = Shortage::of(100);
        let told =
            [200, 100, 99, 50, 100, 124, 99, 0, 125, 100, 99, 99].map(|bytes| shortage.tell(Headroom::Files(bytes)));
        let told: Vec<usize> = (0..told.len()).filter(|&at| told[at].is_some()).collect();
        assert_eq!(told, [2, 10]);
        assert!(Shortage::of(0).tell(Headroom::Slot(0)).is_none());
    }
}
