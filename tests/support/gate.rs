//! A port before a server: it passes on what comes, closes it, or keeps it without an answer, and counts.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Where the server listens.
#[derive(Clone)]
pub enum Behind {
    /// `host:port`
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

/// A port on 127.0.0.1.
pub struct Gate {
    /// Its number.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    came: AtomicUsize,
    /// So many more are closed as they come.
    closing: AtomicUsize,
    /// A connection has so many pieces of answers at most.
    answers: Mutex<usize>,
    speaks: Condvar,
    /// Bytes were kept back.
    kept: AtomicBool,
}

impl Gate {
    /// An open one.
    pub fn before(behind: Behind) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            came: AtomicUsize::new(0),
            closing: AtomicUsize::new(0),
            answers: Mutex::new(usize::MAX),
            speaks: Condvar::new(),
            kept: AtomicBool::new(false),
        });
        let of_thread = state.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                of_thread.came.fetch_add(1, Ordering::SeqCst);
                let closes = |left: usize| left.checked_sub(1);
                if of_thread
                    .closing
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, closes)
                    .is_err()
                {
                    pass(client.unwrap(), &behind, &of_thread);
                }
            }
        });
        Gate { port, state }
    }

    /// Closes so many of the connections that come from now on.
    pub fn close(&self, count: usize) {
        self.state.closing.store(count, Ordering::SeqCst);
    }

    /// From now on nothing is passed on, of old connections or new ones, and nothing is closed; until [`Gate::speak`].
    pub fn fall_silent(&self) {
        self.fall_silent_after(0);
    }

    /// The same once a connection has had so many pieces of answers.
    pub fn fall_silent_after(&self, answers: usize) {
        self.state.kept.store(false, Ordering::SeqCst);
        *self.state.answers.lock().unwrap() = answers;
    }

    /// Waits until somebody asks in vain.
    pub fn wait_for_asker(&self) {
        let waited = Instant::now();
        while !self.state.kept.load(Ordering::SeqCst) {
            assert!(waited.elapsed() < Duration::from_secs(60), "nobody asks anything");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Passes on what was kept back, and all that comes.
    pub fn speak(&self) {
        *self.state.answers.lock().unwrap() = usize::MAX;
        self.state.speaks.notify_all();
    }

    /// How many connections came.
    pub fn came(&self) -> usize {
        self.state.came.load(Ordering::SeqCst)
    }
}

/// Threads that hang in their driver must not outlive the test.
impl Drop for Gate {
    fn drop(&mut self) {
        self.speak();
    }
}

impl State {
    fn wait(&self, answered: usize) {
        let mut answers = self.answers.lock().unwrap();
        while answered >= *answers {
            self.kept.store(true, Ordering::SeqCst);
            answers = self.speaks.wait(answers).unwrap();
        }
    }
}

fn pass(client: TcpStream, behind: &Behind, state: &Arc<State>) {
    let back = client.try_clone().unwrap();
    let (a, b) = (client.try_clone().unwrap(), client);
    match behind {
        Behind::Tcp(address) => {
            let server = TcpStream::connect(address).unwrap();
            let (to, from) = (server.try_clone().unwrap(), server.try_clone().unwrap());
            pump(a, to, (state, 0), move || drop(server.shutdown(Shutdown::Write)));
            pump(from, b, (state, 1), move || drop(back.shutdown(Shutdown::Write)));
        }
        Behind::Unix(path) => {
            let server = UnixStream::connect(path).unwrap();
            let (to, from) = (server.try_clone().unwrap(), server.try_clone().unwrap());
            pump(a, to, (state, 0), move || drop(server.shutdown(Shutdown::Write)));
            pump(from, b, (state, 1), move || drop(back.shutdown(Shutdown::Write)));
        }
    }
}

fn pump(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    (state, counts): (&Arc<State>, usize),
    end: impl FnOnce() + Send + 'static,
) {
    let state = state.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        let mut answered = 0;
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            state.wait(answered);
            answered += counts;
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        end();
    });
}
