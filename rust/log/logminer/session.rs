//! A mining session on a connection, and the questions about the log beside it.

use std::sync::Arc;

use crate::catalog::{self, Table, TableVersion};
use crate::dialect::Query;
use crate::dialect::mining::{Mining, MiningFault, contents};
use crate::error::{Error, ErrorKind, Result};
use crate::log::logminer::source::{
    Archive, ContentsRow, KnownTimes, LogSource, MiningCall, MissingFile, OpenTransaction,
};
use crate::odbc::{Batch, Column, Connection, Field};
use crate::position::{Incarnation, Scn, Xid};
use crate::split::TableName;

/// A connection that mines and asks, one after the other.
pub struct Session {
    connection: Connection,
    dialect: Arc<dyn Mining>,
    incarnation: Incarnation,
    tables: Vec<TableName>,
    contents: Query,
    fetch_rows: usize,
    /// The file that the server would not add.
    refused: Option<String>,
}

/// How the server is set up: names and values for [`Mining::judge_setup`].
///
/// # Errors
/// Database errors.
pub fn server_settings(connection: &mut Connection, dialect: &dyn Mining) -> Result<Vec<(String, String)>> {
    let setup = dialect.setup();
    let rows = connection
        .rows(&setup.sql, &setup.columns)
        .map_err(|error| error.doing("reading how the server is set up"))?;
    let pair = |row: &Vec<Field>| Some((row.first()?.text()?.to_owned(), row.get(1)?.text()?.to_owned()));
    Ok(rows.iter().filter_map(pair).collect())
}

impl Session {
    /// A session for the changes of the given tables, read `fetch_rows` at once; the connection takes fewer where its
    /// buffers would grow too large. Checks that the server logs what is needed.
    ///
    /// # Errors
    /// `Setup` and `LoggingMode` with what is to be set; database errors.
    pub fn new(
        mut connection: Connection,
        dialect: Arc<dyn Mining>,
        tables: &[&TableName],
        fetch_rows: usize,
    ) -> Result<Self> {
        let settings = server_settings(&mut connection, &*dialect)?;
        dialect.judge_setup(&settings)?;
        let mut session = Session {
            tables: tables.iter().map(|&table| table.clone()).collect(),
            contents: dialect.contents(tables),
            fetch_rows,
            refused: None,
            incarnation: Incarnation(0),
            connection,
            dialect,
        };
        session.incarnation = Incarnation(session.number(&session.dialect.incarnation(), "asking which log this is")?);
        Ok(session)
    }

    fn number(&mut self, query: &Query, doing: &str) -> Result<u64> {
        let number = self.connection.int(&query.sql, &query.columns);
        number
            .map_err(|error| error.doing(doing))?
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| unexpected(doing))
    }

    fn rows(&mut self, query: &Query, doing: &str) -> Result<Vec<Vec<Field>>> {
        self.connection
            .rows(&query.sql, &query.columns)
            .map_err(|error| error.doing(doing))
    }

    fn begin(&mut self, call: &MiningCall<'_>) -> Result<()> {
        self.add(call.files)?;
        // One before what is wanted: whether a server takes the bound as inclusive is not documented everywhere.
        let from = Scn(call.from.0.saturating_sub(1));
        self.connection
            .execute(&self.dialect.start(from))
            .map_err(|error| error.doing("starting the mining session"))
    }

    fn add(&mut self, files: &[Archive]) -> Result<()> {
        self.refused = None;
        let mut first = true;
        for file in files {
            let added = self.connection.execute(&self.dialect.add_file(&file.path, first));
            match added {
                Err(error) if self.fault(&error) == Some(MiningFault::DuplicateFile) => {}
                Err(error) => {
                    self.refused = Some(file.path.clone());
                    return Err(error.doing(format!("adding log file '{}'", file.path)));
                }
                Ok(()) => {}
            }
            first = false;
        }
        Ok(())
    }

    fn read(&mut self, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let Session {
            connection,
            contents,
            dialect,
            fetch_rows,
            ..
        } = self;
        let mut cursor = connection.query(&contents.sql, &contents.columns, *fetch_rows)?;
        while let Some(batch) = cursor.next()? {
            let columns = Columns::of(&batch);
            for nth in 0..batch.rows() {
                row(&columns.row(nth, &**dialect)?)?;
            }
        }
        Ok(())
    }

    /// Ends the session, whatever came before: the next call must not find its files.
    fn end(&mut self) -> Result<()> {
        let ended = self.connection.execute(&self.dialect.end());
        match ended {
            Err(error) if self.fault(&error) == Some(MiningFault::NoSession) => Ok(()),
            ended => ended.map_err(|error| error.doing("ending the mining session")),
        }
    }

    fn fault(&self, error: &Error) -> Option<MiningFault> {
        match error.kind() {
            ErrorKind::Statement { native, .. } => self.dialect.fault(*native),
            _ => None,
        }
    }
}

impl LogSource for Session {
    fn archives(&mut self) -> Result<Vec<Archive>> {
        const DOING: &str = "asking for the archived log files";
        let rows = self.rows(&self.dialect.archives(), DOING)?;
        let mut archives = Vec::with_capacity(rows.len());
        for row in &rows {
            let (archive, incarnation) = archive(row).ok_or_else(|| unexpected(DOING))?;
            if incarnation == self.incarnation {
                archives.push(archive);
            }
        }
        Ok(archives)
    }

    fn visible_end(&mut self) -> Result<Scn> {
        self.number(&self.dialect.visible_end(), "asking for the end of the log")
            .map(Scn)
    }

    fn open_transactions(&mut self) -> Result<Vec<OpenTransaction>> {
        const DOING: &str = "asking for the open transactions";
        let rows = self.rows(&self.dialect.open_transactions(), DOING)?;
        let open = |row: &Vec<Field>| {
            let number = |nth: usize| {
                row.get(nth)
                    .and_then(Field::int)
                    .and_then(|number| u64::try_from(number).ok())
            };
            Some(OpenTransaction {
                xid: Xid(number(0)?),
                start: number(1).filter(|&start| start > 0).map(Scn),
                session: match row.get(2) {
                    Some(Field::Int(id)) => format!("session {id}"),
                    Some(Field::Text(name)) => name.clone(),
                    _ => "no session (prepared, perhaps)".into(),
                },
            })
        };
        rows.iter()
            .map(|row| open(row).ok_or_else(|| unexpected(DOING)))
            .collect()
    }

    fn known_times(&mut self, local: &str) -> Result<KnownTimes> {
        let rows = self.rows(&self.dialect.known_times(local), "asking for the log's times")?;
        let row = rows.first().map(Vec::as_slice).unwrap_or_default();
        let time = |nth: usize| Some(row.get(nth)?.text()?.to_owned());
        let scn = row.first().and_then(Field::int);
        Ok(KnownTimes {
            scn: scn.and_then(|scn| u64::try_from(scn).ok()).map(Scn),
            noted: time(1).zip(time(2)),
        })
    }

    fn incarnation(&mut self) -> Result<Incarnation> {
        Ok(self.incarnation)
    }

    fn switch_log(&mut self) -> Result<()> {
        self.connection.execute(&self.dialect.switch_log())
    }

    fn mine(&mut self, call: &MiningCall<'_>, row: &mut dyn FnMut(&ContentsRow<'_>) -> Result<()>) -> Result<()> {
        let read = self.begin(call).and_then(|()| self.read(row));
        let ended = self.end();
        match read {
            Err(error) => {
                // The first error is the one that says what went wrong.
                if let Err(second) = ended {
                    log::warn!("{second}");
                }
                Err(error)
            }
            Ok(()) => ended,
        }
    }

    fn probe(&mut self, files: &[Archive]) -> Result<()> {
        let added = self.add(files);
        let ended = self.end();
        added.and(ended)
    }

    fn versions(&mut self, object_ids: &[u64]) -> Result<Option<Vec<TableVersion>>> {
        catalog::versions(&mut self.connection, &*self.dialect, object_ids)
            .map(Some)
            .map_err(|error| error.doing("asking whether the tables were altered"))
    }

    fn shape(&mut self, table: u32) -> Result<Option<Table>> {
        let Some(name) = self.tables.get(table as usize) else {
            return Ok(None);
        };
        match catalog::version(&mut self.connection, &*self.dialect, name)? {
            Some(_) => catalog::load(&mut self.connection, &*self.dialect, name).map(Some),
            None => Ok(None),
        }
    }

    fn missing_file(&self, error: &Error) -> Option<MissingFile> {
        match (self.fault(error), error.kind()) {
            (Some(MiningFault::MissingFile | MiningFault::NoFiles), ErrorKind::Statement { message, .. }) => {
                Some(MissingFile {
                    path: self.refused.clone(),
                    message: message.trim().to_owned(),
                })
            }
            _ => None,
        }
    }

    fn check_setup(&mut self) -> Result<()> {
        let settings = server_settings(&mut self.connection, &*self.dialect)?;
        self.dialect.judge_setup(&settings)
    }
}

fn archive(row: &[Field]) -> Option<(Archive, Incarnation)> {
    let number = |nth: usize| u64::try_from(row.get(nth)?.int()?).ok();
    let archive = Archive {
        path: row.first()?.text()?.to_owned(),
        // A file without records has none.
        first: Scn(number(1).unwrap_or_default()),
        last: Scn(number(2).unwrap_or_default()),
        previous: Scn(number(3)?),
        bytes: number(4)?,
        active: number(5)? == 1,
        sequence: number(6)?,
    };
    Some((archive, Incarnation(number(7)?)))
}

fn unexpected(doing: &str) -> Error {
    Error::from(ErrorKind::Internal(
        "the database's answer is not of the form that it should have".into(),
    ))
    .doing(doing)
}

/// The columns of a batch, taken once.
struct Columns<'b> {
    scn: Column<'b>,
    xid: Column<'b>,
    operation: Column<'b>,
    roll_back: Column<'b>,
    owner: Column<'b>,
    table: Column<'b>,
    row_id: Column<'b>,
    object: Column<'b>,
    object_version: Column<'b>,
    redo: Column<'b>,
    rs_id: Column<'b>,
    ssn: Column<'b>,
    continued: Column<'b>,
    status: Column<'b>,
    time: Column<'b>,
}

impl<'b> Columns<'b> {
    fn of(batch: &Batch<'b>) -> Self {
        Columns {
            scn: batch.column(contents::SCN),
            xid: batch.column(contents::XID),
            operation: batch.column(contents::OPERATION),
            roll_back: batch.column(contents::ROLL_BACK),
            owner: batch.column(contents::OWNER),
            table: batch.column(contents::TABLE),
            row_id: batch.column(contents::ROW_ID),
            object: batch.column(contents::OBJECT),
            object_version: batch.column(contents::OBJECT_VERSION),
            redo: batch.column(contents::REDO),
            rs_id: batch.column(contents::RS_ID),
            ssn: batch.column(contents::SSN),
            continued: batch.column(contents::CONTINUED),
            status: batch.column(contents::STATUS),
            time: batch.column(contents::TIMESTAMP),
        }
    }

    fn row(&self, nth: usize, dialect: &dyn Mining) -> Result<ContentsRow<'b>> {
        let number = |column: &Column<'_>| column.int(nth).unwrap_or_default();
        let text = |column: &Column<'b>| column.bytes(nth).unwrap_or_default();
        let corrupt =
            |what: &str| Error::from(ErrorKind::CorruptLog(what.into())).at(format!("scn {}", number(&self.scn)));
        let scn = self.scn.int(nth).and_then(|scn| u64::try_from(scn).ok());
        let scn = scn.ok_or_else(|| corrupt("a record without scn"))?;
        let xid = self.xid.bytes(nth).and_then(|xid| dialect.xid(xid));
        let code = number(&self.operation);
        Ok(ContentsRow {
            scn: Scn(scn),
            xid: xid.ok_or_else(|| corrupt("a record without a transaction"))?,
            code,
            operation: dialect.operation(code),
            roll_back: number(&self.roll_back) != 0,
            owner: text(&self.owner),
            table: text(&self.table),
            row_id: text(&self.row_id),
            object_id: number(&self.object) as u64,
            object_version: number(&self.object_version) as u32,
            redo: self.redo.bytes(nth),
            rs_id: text(&self.rs_id),
            ssn: number(&self.ssn) as u32,
            continued: number(&self.continued) != 0,
            status: number(&self.status) as i32,
            time: self.time.bytes(nth),
        })
    }
}
