//! What a job says of its slot.

use std::time::Duration;

use crate::log::{OnFault, Patience};
use crate::split::TableName;

/// Which slot is read, and how.
#[derive(Clone, Debug)]
pub struct SlotSettings {
    /// `slot.name`: the durable slot.
    pub slot: String,
    /// The publications whose tables are wanted, for plugins that know publications.
    pub publications: Vec<String>,
    /// Only the captured tables and their partitions are in the publications, and ever were: what nobody knows any more is
    /// one of these.
    pub exclusive: bool,
    /// The table that DDL statements are captured in, where there is one; it must be in the publications.
    pub ddl_table: Option<TableName>,
    /// `log.on-dictionary-mismatch`: what becomes of rows of which it cannot be told whose they are.
    pub on_mismatch: OnFault,
    /// How many changes the first call hands out at most, whole transactions aside; later ones hand out more as long as the
    /// log has more.
    pub batch_changes: u64,
    /// How often partitions and the slot's state are looked up again while the log grows.
    pub look_every: Duration,
    /// How long a copy that a dead session holds is waited for, and how often it is asked for.
    pub patience: Patience,
}
