//! Moving the durable slot behind completed checkpoints, on a thread of its own: whoever confirms never waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::dialect::slots::{Slots, Statements, lsn};
use crate::error::{ErrorKind, Result};
use crate::log::decoding::control::Connect;
use crate::log::decoding::slot;
use crate::odbc::Connection;
use crate::position::Lsn;

/// Moves one durable slot. Its thread ends with it, after a move that is under way.
pub struct Confirmer {
    shared: Arc<Shared>,
    /// Full if a move is due that was not begun; the thread ends when it is dropped.
    due: Sender<()>,
    starting: Mutex<Option<Mover>>,
}

#[derive(Default)]
struct Shared {
    wanted: AtomicU64,
    confirmed: AtomicU64,
}

impl Confirmer {
    /// A mover of a slot. Connects to nothing before the first move.
    pub fn new(connect: Connect, dialect: Arc<dyn Slots>, slot: &str) -> Self {
        let (due, wake) = bounded(1);
        let shared = Arc::new(Shared::default());
        let mover = Mover {
            connect,
            dialect,
            slot: slot.to_owned(),
            shared: shared.clone(),
            wake,
            connection: None,
        };
        Confirmer {
            shared,
            due,
            starting: Mutex::new(Some(mover)),
        }
    }

    /// Everything that commits before a place is safe in a checkpoint that is complete, and in as many behind it as may
    /// have to be restored: the slot need not give it any more. Never waits; of several places the last one counts.
    pub fn confirm(&self, to: Lsn) {
        if self.shared.wanted.fetch_max(to.0, Ordering::SeqCst) >= to.0 {
            return;
        }
        let starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mover) = starting {
            let started = std::thread::Builder::new()
                .name("tidemark-confirm".to_owned())
                .spawn(move || mover.run());
            if let Err(error) = started {
                log::warn!("no thread could be started to move the slot; the server keeps its log: {error}");
            }
        }
        // Full: it will look anyway. Disconnected: it could not be started.
        let _ = self.due.try_send(());
    }

    /// Up to where the slot was moved by this job.
    pub fn confirmed(&self) -> Option<Lsn> {
        match self.shared.confirmed.load(Ordering::SeqCst) {
            0 => None,
            lsn => Some(Lsn(lsn)),
        }
    }
}

struct Mover {
    connect: Connect,
    dialect: Arc<dyn Slots>,
    slot: String,
    shared: Arc<Shared>,
    wake: Receiver<()>,
    connection: Option<(Connection, Statements)>,
}

impl Mover {
    fn run(mut self) {
        while self.wake.recv().is_ok() {
            let wanted = self.shared.wanted.load(Ordering::SeqCst);
            match self.advance(Lsn(wanted)) {
                Ok(()) => self.shared.confirmed.store(wanted, Ordering::SeqCst),
                // Nothing is lost: the server keeps its log until a later checkpoint moves the slot.
                Err(error) => {
                    self.connection = None;
                    if !matches!(error.kind(), ErrorKind::Closed) {
                        log::warn!(
                            "slot '{}' could not be moved to {}: {error}",
                            self.slot,
                            lsn(Lsn(wanted))
                        );
                    }
                }
            }
        }
    }

    fn advance(&mut self, to: Lsn) -> Result<()> {
        let (connection, statements) = match &mut self.connection {
            Some(open) => open,
            none => {
                let mut connection = (self.connect)()?;
                let statements = slot::resolve_names(&mut connection, &*self.dialect)?;
                none.insert((connection, statements))
            }
        };
        slot::advance(connection, statements, &self.slot, to)
    }
}
