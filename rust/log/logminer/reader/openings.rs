//! The pairs that a log is opened at when no state says where.

use super::mining::Looked;
use super::{LogMinerReader, Settings};
use crate::error::{ErrorKind, Result};
use crate::log::Opening;
use crate::log::logminer::archives::Archives;
use crate::log::logminer::rules::Bound;
use crate::log::logminer::source::LogSource;
use crate::position::{Position, Scn};
use crate::row::zone::Zone;

/// The server notes its time and scn so often, in seconds.
const NOTED_EVERY: i64 = 3;

/// Seconds that a noted time may be wrong by: it is cut to the second, and the time and the scn of a commit are not taken
/// at one moment.
const MARGIN: i64 = 5;

/// Where the log ends now: `E` first, then the open transactions, then `E` again. A transaction that is not among the
/// open ones and began before the first `E` is committed before the second.
///
/// # Errors
/// Database errors.
pub fn latest(source: &mut impl LogSource) -> Result<Opening> {
    let end = Archives::new(source.archives()?).end();
    let open = source.open_transactions()?;
    let oldest = open
        .iter()
        .filter_map(|open| open.start)
        .filter(|start| start.0 > 0)
        .min();
    let position = Archives::new(source.archives()?).end();
    Ok(Opening {
        mine_from: oldest.map_or(end, |oldest| oldest.min(end)),
        position: Position::before(position),
    })
}

/// The first scn that the kept log has whole, with all behind it.
///
/// # Errors
/// `LogGone` if nothing is kept; database errors.
pub fn earliest(source: &mut impl LogSource) -> Result<Opening> {
    let archives = Archives::new(source.archives()?);
    Ok(from(archives.earliest()?))
}

/// In front of what commits at an scn. Transactions that began before it are looked for further back.
///
/// # Errors
/// `LogGone` if the log from there on is no longer kept; `Option` if it does not reach so far; database errors.
pub fn at(source: &mut impl LogSource, scn: Scn) -> Result<Opening> {
    check_kept(source, scn, "scan.startup.specific-offset.scn")?;
    let end = source.visible_end()?;
    if scn > end {
        return Err(ErrorKind::Option {
            option: "scan.startup.specific-offset.scn".into(),
            reason: format!("is {scn}; the log ends at {end}"),
        }
        .into());
    }
    Ok(from(scn))
}

/// In front of the first transaction that committed at a time or later, in milliseconds since the epoch. The server knows
/// an scn of some seconds before; from there on the log says when transactions committed.
///
/// # Errors
/// `Option` for a time of which the server does not know the scn; `LogGone`; those of mining.
pub fn at_time<S: LogSource>(mut source: S, settings: Settings, millis: i64) -> Result<Opening> {
    const OPTION: &str = "scan.startup.timestamp-millis";
    let micros = millis * 1000;
    let before = Opening {
        mine_from: scn_before(&mut source, &settings.zone, micros, OPTION)?,
        // Nothing is returned, so that nothing is looked for further back.
        position: Position::before(Scn(u64::MAX)),
    };
    check_kept(&mut source, before.mine_from, OPTION)?;
    let position = LogMinerReader::open(source, Vec::new(), settings, before)?.first_commit_since(micros)?;
    Ok(Opening {
        mine_from: position.scn,
        position,
    })
}

fn check_kept(source: &mut impl LogSource, scn: Scn, option: &str) -> Result<()> {
    match Archives::new(source.archives()?).from(scn) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.doing(format!("looking for the log from {option} on"))),
    }
}

fn scn_before(source: &mut impl LogSource, zone: &Zone, micros: i64, option: &str) -> Result<Scn> {
    let at = micros.div_euclid(1_000_000);
    let local = |seconds| zone.local(seconds);
    let known = source.known_times(&local(at - MARGIN)?)?;
    let refused = |why: String| {
        Err(ErrorKind::Option {
            option: option.into(),
            reason: format!("is {} on the server's clock; {why}", local(at)?),
        }
        .into())
    };
    let Some((first, last)) = known.noted else {
        return refused("the server has noted no time of its log since it was started".into());
    };
    if at > zone.epoch_micros(last.as_bytes())?.div_euclid(1_000_000) + NOTED_EVERY {
        return refused(format!("the newest time that it has noted of its log is {last}"));
    }
    match known.scn {
        Some(scn) => Ok(scn),
        None => refused(format!(
            "the server knows its log by time from {first} on only: older times are dropped, and all when it is \
             restarted. Start at an scn with scan.startup.mode = 'specific-offset'"
        )),
    }
}

fn from(scn: Scn) -> Opening {
    Opening {
        mine_from: scn,
        position: Position::before(scn),
    }
}

impl<S: LogSource> LogMinerReader<S> {
    /// The cut in front of the first commit at or after a time; behind all commits if there is none yet.
    fn first_commit_since(&mut self, micros: i64) -> Result<Position> {
        loop {
            if let Some(control) = self.controls.pop_front() {
                if control.bound == Bound::Commit && control.micros >= micros {
                    let here = self.progress.position;
                    return Ok(match here.scn == control.scn {
                        true => here,
                        false => Position::before(control.scn),
                    });
                }
                self.apply(control)?;
            } else if let Some(call) = self.call.take() {
                self.moved_to(call.highest, None);
            } else if !matches!(self.mine()?, Looked::Rows) {
                return Ok(self.progress.position);
            }
        }
    }
}
