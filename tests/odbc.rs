//! The ODBC room against a real server.

mod support;

use std::time::Duration;

use support::Server;
use tidemark::error::ErrorKind;
use tidemark::odbc::{ColumnSpec, Connection, Field, Secret};

const TEXT: ColumnSpec = ColumnSpec::Text { bytes: 40 };

#[test]
fn rows_come_in_batches_with_their_nulls() {
    let mut connection = Server::shared().connect();
    let sql = "select i, case when i % 3 = 0 then null else 'Zeile ' || i end, decode(lpad(to_hex(i), 8, '0'), 'hex'), \
               case when i % 2 = 0 then i::bigint << 40 end from generate_series(1, 2500) i order by i";
    let specs = [ColumnSpec::Int, TEXT, ColumnSpec::Binary { bytes: 4 }, ColumnSpec::Int];
    let mut cursor = connection.query(sql, &specs, 700).unwrap();
    let mut seen = 0i64;
    let mut batches = 0;
    while let Some(batch) = cursor.next().unwrap() {
        batches += 1;
        assert!(batch.rows() <= 700 && batch.arity() == 4);
        let columns: Vec<_> = (0..4).map(|column| batch.column(column)).collect();
        for row in 0..batch.rows() {
            seen += 1;
            assert_eq!(columns[0].int(row), Some(seen));
            let text = format!("Zeile {seen}");
            assert_eq!(columns[1].text(row).unwrap(), (seen % 3 != 0).then_some(text.as_str()));
            assert_eq!(columns[1].is_null(row), seen % 3 == 0);
            assert_eq!(columns[2].bytes(row), Some(&(seen as u32).to_be_bytes()[..]));
            assert_eq!(columns[3].int(row), (seen % 2 == 0).then_some(seen << 40));
        }
    }
    assert_eq!((seen, batches), (2500, 4));
    drop(cursor);
    assert_eq!(
        connection.rows("select 7", &[ColumnSpec::Int]).unwrap(),
        [[Field::Int(7)]]
    );
}

#[test]
fn a_half_read_result_gives_way_to_the_next_statement() {
    let mut connection = Server::shared().connect();
    connection
        .start("select generate_series(1, 5000)", &[ColumnSpec::Int], 10)
        .unwrap();
    assert_eq!(connection.fetch().unwrap().unwrap().rows(), 10);
    assert_eq!(
        connection.rows("select 7", &[ColumnSpec::Int]).unwrap(),
        [[Field::Int(7)]]
    );
    assert!(connection.fetch().unwrap().is_none());
    let mut cursor = connection
        .query("select generate_series(1, 5000)", &[ColumnSpec::Int], 10)
        .unwrap();
    cursor.next().unwrap();
    drop(cursor);
    connection.execute("create temporary table kept (a int)").unwrap();
    connection.execute("insert into kept values (1), (2)").unwrap();
    assert_eq!(
        connection
            .rows("select count(*) from kept", &[ColumnSpec::Int])
            .unwrap(),
        [[Field::Int(2)]]
    );
}

/// Values of any length, in any row of a batch, come whole or not at all: never cut.
#[test]
fn long_values_are_never_cut() {
    let mut connection = Server::shared().connect();
    let lengths: Vec<usize> = vec![0, 1, 39, 40, 41, 4095, 4096, 4097, 70_000, 1 << 20, 3, 5000];
    let list = lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    // Two bytes a character: a cut inside one would show.
    let sql = format!(
        "select n, repeat('ж', n), case when n <> 3 then repeat('я', n) end, decode(repeat('00ff', n), 'hex') \
         from unnest(array[{list}]) with ordinality t(n, i) order by i"
    );
    let specs = [ColumnSpec::Int, TEXT, ColumnSpec::LongText, ColumnSpec::LongBinary];
    for batch_rows in [1, 5, 100] {
        let mut cursor = connection.query(&sql, &specs, batch_rows).unwrap();
        let (mut seen, mut together) = (Vec::new(), 0);
        while let Some(batch) = cursor.next().unwrap() {
            let long = |row: &usize| batch.column(0).int(*row).unwrap() > 2048;
            let long = (0..batch.rows()).filter(long).count();
            assert!(long <= 1, "the long values of one row are in memory at once");
            together = together.max(batch.rows());
            for row in 0..batch.rows() {
                let length = batch.column(0).int(row).unwrap() as usize;
                assert_eq!(batch.column(1).text(row).unwrap(), Some("ж".repeat(length).as_str()));
                let text = (length != 3).then(|| "я".repeat(length));
                assert_eq!(batch.column(2).text(row).unwrap(), text.as_deref());
                assert_eq!(batch.column(3).bytes(row), Some(&[0, 255].repeat(length)[..]));
                seen.push(length);
            }
        }
        assert_eq!(seen, lengths);
        assert_eq!(together > 1, batch_rows > 1, "short ones come together");
    }
}

#[test]
fn a_streamed_column_comes_whole_whatever_its_length_a_row_at_a_time() {
    let mut connection = Server::shared().connect();
    let sql = "select n, case when n <> 3 then repeat('я', n) end from unnest(array[0, 3, 49, 50, 51, 70000]) n";
    let specs = [ColumnSpec::Int, ColumnSpec::Streamed { usual: 100 }];
    let mut cursor = connection.query(sql, &specs, 100).unwrap();
    for length in [0, 3, 49, 50, 51, 70_000] {
        let batch = cursor.next().unwrap().unwrap();
        assert_eq!((batch.rows(), batch.column(0).int(0)), (1, Some(length as i64)));
        let text = (length != 3).then(|| "я".repeat(length));
        assert_eq!(batch.column(1).text(0).unwrap(), text.as_deref());
    }
    assert!(cursor.next().unwrap().is_none());
}

#[test]
fn the_short_columns_of_a_row_can_be_had_alone() {
    let mut connection = Server::shared().connect();
    let sql = "select n, repeat('x', n * 5000) from generate_series(1, 9) n order by n";
    let specs = [ColumnSpec::Int, ColumnSpec::LongText];
    for batch_rows in [1, 4, 100] {
        let mut cursor = connection.query(sql, &specs, batch_rows).unwrap();
        for n in 1..10 {
            let batch = if n % 3 == 0 { cursor.next_short() } else { cursor.next() };
            let batch = batch.unwrap().unwrap();
            assert_eq!((batch.rows(), batch.column(0).int(0)), (1, Some(n)));
            if n % 3 > 0 {
                assert_eq!(batch.column(1).bytes(0).unwrap().len(), n as usize * 5000);
            }
        }
        assert!(cursor.next().unwrap().is_none());
    }
}

#[test]
fn a_driver_that_cannot_read_again_streams_long_columns_and_refuses_what_does_not_fit() {
    let mut settings = Server::shared().settings();
    settings.stream_long_values = true;
    let mut connection = Connection::open(&settings).unwrap();
    let sql = "select n, case when n > 1 then repeat('я', n) end, decode(repeat('00ff', n), 'hex') \
               from unnest(array[1, 40, 41, 0, 200000, 70000]) n";
    let specs = [ColumnSpec::Int, ColumnSpec::LongText, ColumnSpec::LongBinary];
    let mut cursor = connection.query(sql, &specs, 100).unwrap();
    let mut seen = Vec::new();
    while let Some(batch) = cursor.next().unwrap() {
        for row in 0..batch.rows() {
            let length = batch.column(0).int(row).unwrap() as usize;
            let text = (length > 1).then(|| "я".repeat(length));
            assert_eq!(batch.column(1).text(row).unwrap(), text.as_deref());
            assert_eq!(batch.column(1).is_null(row), length <= 1);
            assert_eq!(batch.column(2).bytes(row), Some(&[0, 255].repeat(length)[..]));
            seen.push(length);
        }
    }
    assert_eq!(seen, [1, 40, 41, 0, 200_000, 70_000]);
    drop(cursor);
    let mut cursor = connection
        .query("select repeat('x', n) from generate_series(39, 41) n", &[TEXT], 10)
        .unwrap();
    let error = loop {
        match cursor.next() {
            Ok(batch) => assert!(batch.is_some(), "a value was cut"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error.kind(), ErrorKind::Statement { state, .. } if state == "22001"),
        "{error}"
    );
}

#[test]
fn a_call_is_cancelled_from_another_thread_and_the_connection_lives_on() {
    let mut connection = Server::shared().connect();
    let token = connection.cancel_token();
    assert!(!token.cancel(), "nothing is running");
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while token.busy_for().is_none_or(|busy| busy < Duration::from_millis(100)) {
                std::thread::yield_now();
            }
            assert!(token.cancel());
        });
        connection.execute("select pg_sleep(600)").unwrap_err()
    });
    assert!(
        matches!(error.kind(), ErrorKind::Statement { state, retryable: true, .. } if state == "57014" || state == "HY008"),
        "{error}"
    );
    assert_eq!(
        connection.rows("select 7", &[ColumnSpec::Int]).unwrap(),
        [[Field::Int(7)]]
    );
}

#[test]
fn close_wakes_a_call_and_forbids_more() {
    let mut connection = Server::shared().connect();
    let token = connection.cancel_token();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let error = connection.execute("select pg_sleep(600)").unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Closed), "{error}");
            let error = connection.execute("select 1").unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Closed), "{error}");
            drop(connection);
        });
        while token.busy_for().is_none() {
            std::thread::yield_now();
        }
        assert!(token.close_and_wait(Duration::from_secs(60)));
        running.join().unwrap();
    });
    assert!(!token.cancel(), "the handle is gone");
}

#[test]
fn a_statement_that_outlasts_its_timeout_ends_with_that_error() {
    let mut settings = Server::shared().settings();
    settings.statement_timeout = Some(Duration::from_secs(1));
    let mut connection = Connection::open(&settings).unwrap();
    let error = connection.execute("select pg_sleep(600)").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout { seconds: 1 }), "{error}");
    assert!(error.is_retryable());
}

#[test]
fn a_failed_statement_says_why_and_whether_to_try_again() {
    let mut connection = Server::shared().connect();
    let error = connection.execute("select * from nowhere").unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Statement { state, message, retryable: false, .. }
            if (state == "42P01" || state == "42S02") && message.contains("nowhere")),
        "{error}"
    );
    let error = connection.rows("select 1, 2", &[ColumnSpec::Int]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Internal(_)), "{error}");
    assert_eq!(
        connection.rows("select 7", &[ColumnSpec::Int]).unwrap(),
        [[Field::Int(7)]]
    );
}

#[test]
fn a_session_that_the_server_ends_is_an_error_to_try_again() {
    let server = Server::shared();
    let mut connection = server.connect();
    let pid = connection.rows("select pg_backend_pid()", &[ColumnSpec::Int]).unwrap()[0][0]
        .int()
        .unwrap();
    connection
        .start("select generate_series(1, 100000)", &[ColumnSpec::Int], 100)
        .unwrap();
    connection.fetch().unwrap();
    server.psql(&format!("select pg_terminate_backend({pid}, 60000)"));
    let error = loop {
        match connection.fetch() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the result ended as if it were whole"),
            Err(error) => break error,
        }
    };
    assert!(error.is_retryable(), "{error}");
    assert!(connection.is_dead());
    drop(connection);
}

#[test]
fn a_refused_or_impossible_connection_does_not_betray_the_password() {
    let mut settings = Server::shared().settings();
    settings.password = Secret::new("hunter2");
    settings.attributes.push(("Port".into(), "5999".into()));
    let error = Connection::open(&settings).err().unwrap();
    assert!(
        matches!(error.kind(), ErrorKind::Connect { retryable: true, .. }),
        "{error}"
    );
    assert!(!format!("{error} {settings:?}").contains("hunter2"));

    settings.driver = "No Such Driver".into();
    let error = Connection::open(&settings).err().unwrap();
    assert!(
        matches!(error.kind(), ErrorKind::Connect { retryable: false, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("odbcinst -q -d"), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn odd_passwords_reach_the_server_whole() {
    let server = Server::shared();
    server.psql("create role odd login password 'a;b}c+d{e=f%20 g''h'");
    let mut settings = server.settings();
    settings.username = "odd".into();
    settings.password = Secret::new("a;b}c+d{e=f%20 g'h");
    let mut connection = Connection::open(&settings).unwrap();
    assert_eq!(
        connection.rows("select current_user::text", &[TEXT]).unwrap(),
        [[Field::Text("odd".into())]]
    );
}
