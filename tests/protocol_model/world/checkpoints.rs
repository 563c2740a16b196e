//! Checkpoints, their notices, failures and restores.

use super::*;

impl<E: Enumerator> World<E> {
    pub(super) fn trigger(&mut self) {
        let up = |up: Up| self.tasks.iter().any(|task| task.up == up);
        let some_dead = up(Up::Dead) || up(Up::Detected);
        if !self.config.checkpoints || (some_dead && self.random.chance(0.7)) || up(Up::Detected) {
            return;
        }
        if self.pending.len() >= 2 || self.stop.is_some() {
            return;
        }
        self.begin();
    }

    /// Begins to stop the job with a savepoint, if nothing is down.
    pub(super) fn stop(&mut self) {
        let all_up = self.tasks.iter().all(|task| task.up == Up::Running);
        if self.config.checkpoints && all_up && self.stop.is_none() && self.pending.len() < 2 {
            self.stop = Some(self.next_id);
            self.begin();
        }
    }

    fn begin(&mut self) {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.push(Checkpoint {
            id,
            enumerator: self.enumerator.snapshot(id),
            tasks: BTreeMap::new(),
            base: self.base.clone(),
        });
        let unsaved = std::mem::take(&mut self.unsaved);
        self.assigned.insert(id, unsaved);
        for task in self.tasks.iter_mut().filter(|task| task.up == Up::Running) {
            task.inbox.push_back(ToTask::Barrier(id));
        }
    }

    pub(super) fn snapshot_task(&mut self, subtask: usize, id: u64) -> Outcome<()> {
        let Some(at) = self.pending.iter().position(|checkpoint| checkpoint.id == id) else {
            return Ok(());
        };
        let task = &mut self.tasks[subtask];
        if self.stop == Some(id) {
            task.stopped = true;
            task.before_stop = task.outbox.len();
        }
        let state = TaskState {
            splits: task.snapshot(&self.config.faults)?,
            log: task.log.clone(),
        };
        self.pending[at].tasks.insert(subtask, state);
        if self.pending[at].tasks.len() == self.tasks.len() {
            let complete = self.pending.remove(at);
            self.pending.retain(|checkpoint| checkpoint.id > id);
            self.newest = Some(complete);
            let stop = self.stop == Some(id);
            if stop || self.quiet || !self.random.chance(self.config.lost_notices) {
                self.notices.push(Notice::Enumerator(id));
            }
            if !stop && (self.quiet || !self.random.chance(self.config.lost_notices)) {
                self.notices.push(Notice::Tasks(id));
            }
        }
        Ok(())
    }

    pub(super) fn notify(&mut self) -> Outcome<()> {
        if self.notices.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.notices.len());
        let waits = match self.notices[at] {
            // What was sent before a barrier comes before the news that all have taken it.
            Notice::Enumerator(id) => self.stop == Some(id) && self.tasks.iter().any(|task| task.before_stop > 0),
            _ => false,
        };
        if waits {
            return Ok(());
        }
        match self.notices.remove(at) {
            Notice::Stop => self.restore_all(),
            Notice::Enumerator(id) => {
                if self.stop == Some(id) {
                    self.tasks.iter_mut().for_each(|task| task.up = Up::Stopped);
                    self.met.stops += 1;
                    self.notices.push(Notice::Stop);
                }
                self.last_notice = self.last_notice.max(id);
                self.assigned.retain(|&checkpoint, _| checkpoint > id);
                if self.config.faults.firm_at_any_notice {
                    self.enumerator.snapshot(id);
                }
                self.tell(|enumerator| enumerator.checkpoint_complete(id))
            }
            Notice::Tasks(id) => {
                let newest = self.newest.as_ref().filter(|checkpoint| checkpoint.id == id);
                for (subtask, task) in self
                    .tasks
                    .iter_mut()
                    .enumerate()
                    .filter(|(_, task)| task.up == Up::Running)
                {
                    task.notice(id);
                    if !self.config.faults.dropped_on_the_own_notice {
                        continue;
                    }
                    let state = newest.and_then(|checkpoint| checkpoint.tasks.get(&subtask));
                    for bytes in state.into_iter().flat_map(|state| &state.splits) {
                        if let Split::Finished(range) = Split::decode(bytes)? {
                            task.state.handle(ToReader::Acknowledge(range))?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn kill(&mut self) {
        let share = self.random.share();
        let mut subtasks: Vec<_> = (0..self.tasks.len()).collect();
        self.random.shuffle(&mut subtasks);
        let many = match share {
            _ if share < 0.35 => subtasks.len(),
            _ if share < 0.8 => 1,
            _ => 1 + self.random.below(subtasks.len()),
        };
        for &subtask in &subtasks[..many] {
            if self.tasks[subtask].up == Up::Running {
                self.tasks[subtask].up = Up::Dead;
            }
        }
    }

    pub(super) fn detect(&mut self) {
        for (subtask, task) in self.tasks.iter_mut().enumerate() {
            if task.up == Up::Dead && self.random.chance(0.7) {
                task.up = Up::Detected;
                self.listed.remove(&(subtask as u32));
            }
        }
    }

    /// All readers that are known to be down start again, the enumerator goes on.
    pub(super) fn restore_tasks(&mut self) -> Outcome<()> {
        let mut down: Vec<_> = (0..self.tasks.len())
            .filter(|&at| self.tasks[at].up == Up::Detected)
            .collect();
        if down.is_empty() {
            return Ok(());
        }
        self.pending.clear();
        self.random.shuffle(&mut down);
        let id = self.newest.as_ref().map_or(0, |checkpoint| checkpoint.id);
        for at in down {
            let subtask = at as u32;
            let mut back = Vec::new();
            let later = self.assigned.range_mut(id + 1..).map(|(_, splits)| splits);
            for splits in later.chain([&mut self.unsaved]) {
                let (of_subtask, others) = std::mem::take(splits).into_iter().partition(|(to, _)| *to == subtask);
                *splits = others;
                let of_subtask: Vec<(u32, Split)> = of_subtask;
                back.extend(of_subtask.into_iter().map(|(_, split)| split));
            }
            self.met.resets += 1;
            self.met.resets_not_notified += usize::from(id > self.last_notice);
            self.met.empty_lists += usize::from(back.is_empty());
            self.met.streams_back += usize::from(back.iter().any(|split| matches!(split, Split::Stream(_))));
            let faults = &self.config.faults;
            let named = if faults.resets_forget_nothing {
                subtask + 1000
            } else {
                subtask
            };
            if !(faults.empty_lists_are_not_given_back && back.is_empty()) {
                self.tell(|enumerator| enumerator.add_splits_back(back, named))?;
            }
            let state = self.newest.as_ref().map(|checkpoint| checkpoint.tasks[&at].clone());
            let (splits, log) = state.map_or_else(Default::default, |state| (state.splits, state.log));
            self.tasks[at] = Task::start(&splits, log, &self.config.faults)?;
        }
        if self.random.chance(self.config.checkpoints_after_resets) {
            self.trigger();
        }
        Ok(())
    }

    /// Everything starts again, perhaps with another parallelism.
    pub(super) fn restore_all(&mut self) -> Outcome<()> {
        self.pending.clear();
        self.stop = None;
        let before = self.tasks.len();
        let mut now = before;
        if self.random.chance(0.6) {
            now = self
                .config
                .parallelism
                .map_or_else(|| 1 + self.random.below(4), |fixed| fixed as usize);
        }
        self.met.global_restores += 1;
        self.met.rescaled += usize::from(now != before);
        self.listed.clear();
        self.assigned.clear();
        self.unsaved.clear();
        self.notices.retain(|notice| matches!(notice, Notice::Enumerator(_)));
        let (random, notices) = (&mut self.random, &mut self.notices);
        notices.retain(|_| random.chance(0.5));
        let settings = settings(&self.config, now as u32);
        let Some(checkpoint) = &mut self.newest else {
            self.base.clear();
            self.last_notice = 0;
            self.enumerator = E::new(settings, &self.rules);
            self.tasks = (0..now)
                .map(|_| Task::start(&[], Vec::new(), &self.config.faults))
                .collect::<Result<_>>()?;
            return Ok(());
        };
        // The restored checkpoint stays the newest one, seen with the new parallelism.
        checkpoint.base = checkpoint.downstream();
        let mut states: Vec<_> = std::mem::take(&mut checkpoint.tasks)
            .into_values()
            .map(|state| state.splits)
            .collect();
        if now != before {
            let mut splits: Vec<_> = states.into_iter().flatten().collect();
            self.random.shuffle(&mut splits);
            states = vec![Vec::new(); now];
            for (number, split) in splits.into_iter().enumerate() {
                states[number % now].push(split);
            }
        }
        self.base = checkpoint.base.clone();
        self.last_notice = checkpoint.id;
        self.enumerator = E::restore(&checkpoint.enumerator, settings, &self.rules)?;
        self.tasks.clear();
        for (subtask, splits) in states.into_iter().enumerate() {
            self.tasks.push(Task::start(&splits, Vec::new(), &self.config.faults)?);
            let log = Vec::new();
            checkpoint.tasks.insert(subtask, TaskState { splits, log });
        }
        Ok(())
    }
}
