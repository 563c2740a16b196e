//! The turns of enumerator and readers.

use super::*;

impl<E: Enumerator> World<E> {
    /// Calls the enumerator and does what it answers.
    pub(super) fn tell(&mut self, call: impl FnOnce(&mut E) -> Result<Vec<Action>>) -> Outcome<()> {
        if !self.config.faults.sends_to_readers_that_are_down {
            let listed: Vec<_> = self.listed.iter().copied().collect();
            self.enumerator.listed(&listed);
        }
        for action in call(&mut self.enumerator)? {
            match action {
                Action::Assign { subtask, split } => {
                    if !self.listed.contains(&subtask) {
                        return fail("a split was assigned to a reader that is not registered");
                    }
                    if let Split::Stream(stream) = &split {
                        self.check_gate(&stream.offset)?;
                    }
                    let bytes = split.encode();
                    self.unsaved.push((subtask, split));
                    self.send(subtask, ToTask::Split(bytes))?;
                }
                Action::Send { subtask, event } => self.send(subtask, ToTask::Event(event.encode()))?,
                Action::NoMoreSplits { subtask } => self.send(subtask, ToTask::NoMoreSplits)?,
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, subtask: u32, what: ToTask) -> Outcome<()> {
        let task = &mut self.tasks[subtask as usize];
        match task.up {
            Up::Running => task.inbox.push_back(what),
            Up::Dead => {}
            Up::Detected => return fail("something was sent to a reader that is down"),
            Up::Stopped => return fail("something was sent to a reader that was stopped with a savepoint"),
        }
        Ok(())
    }

    /// The enumerator's turn: it starts, cuts, or takes an event.
    pub(super) fn enumerate(&mut self) -> Outcome<()> {
        let share = self.random.share();
        if self.enumerator.is_undecided() {
            if share < 0.5 {
                let names = self.database.tables.iter().map(|name| (**name).clone()).collect();
                if self.config.stream_only {
                    let offset = Offset::starting(Incarnation(1), Scn(1), Position::before(Scn(1)));
                    return self.tell(|enumerator| enumerator.start_stream(offset));
                }
                self.enumerator.start_tables(names)?;
                return Ok(());
            }
        } else if share < 0.25 {
            if let Some(cut) = self.enumerator.cut_progress() {
                let number = self.database.tables.iter().position(|name| *name == cut.table).unwrap();
                let next = self.chunks[number]
                    .iter()
                    .skip_while(|chunk| chunk.range.lower != cut.lower);
                let chunks = next.take(1 + self.random.below(2)).cloned().collect();
                return self.tell(|enumerator| enumerator.cut(chunks));
            }
        }
        let senders: Vec<_> = (0..self.tasks.len())
            .filter(|&at| !self.tasks[at].outbox.is_empty() && self.tasks[at].up != Up::Detected)
            .collect();
        if senders.is_empty() {
            return Ok(());
        }
        let at = senders[self.random.below(senders.len())];
        let subtask = at as u32;
        self.tasks[at].before_stop = self.tasks[at].before_stop.saturating_sub(1);
        match self.tasks[at].outbox.pop_front() {
            None => Ok(()),
            Some(FromTask::Register) => {
                self.listed.insert(subtask);
                self.tell(|enumerator| enumerator.register(subtask))
            }
            Some(FromTask::Event(bytes)) => {
                let event = ToEnumerator::decode(&bytes)?;
                let forged = match &event {
                    ToEnumerator::Report(range) if self.config.faults.acknowledged_at_once => Some(range.clone()),
                    _ => None,
                };
                self.tell(|enumerator| enumerator.event(subtask, event))?;
                match forged {
                    Some(range) => self.send(subtask, ToTask::Event(ToReader::Acknowledge(range).encode())),
                    None => Ok(()),
                }
            }
        }
    }

    pub(super) fn work(&mut self, subtask: usize) -> Outcome<()> {
        let task = &mut self.tasks[subtask];
        if task.up != Up::Running {
            return Ok(());
        }
        if !task.inbox.is_empty() && (task.stopped || self.random.chance(0.35)) {
            if let Some(checkpoint) = task.receive(&self.config.faults).map_err(Failure)? {
                self.snapshot_task(subtask, checkpoint)?;
            }
        } else if !task.finished && !task.stopped {
            task.work(&mut self.random, &mut self.database, &self.config)?;
        }
        if std::mem::take(&mut self.tasks[subtask].opening) {
            self.tasks[subtask].opened = true;
            self.check_stream(subtask)?;
        }
        Ok(())
    }
}
