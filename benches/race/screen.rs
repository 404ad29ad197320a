//! iodyno's screen in a terminal of 200 columns and 60 rows, drawing while its worker reads.

use std::{
    fs,
    io::{Read, Write},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use iodyno::{model::RunRecord, store};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::job::{Job, own};

const LOOK: Duration = Duration::from_millis(100);

/// Reads per second of a test that was set up and started by keys, from the record it leaves.
pub fn run(job: &Job) -> f64 {
    let state = tempfile::tempdir().unwrap();
    let size = PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(own());
    command.env("TERM", "xterm-256color");
    command.env("IODYNO_STATE_DIR", state.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut output = pair.master.try_clone_reader().unwrap();
    let drawn = Arc::new(Mutex::new(String::new()));
    thread::spawn({
        let drawn = Arc::clone(&drawn);
        move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                let mut drawn = drawn.lock().unwrap();
                // Only the beginning is looked at; the rest is what a terminal would take off.
                if drawn.len() < 1 << 16 {
                    drawn.push_str(&String::from_utf8_lossy(&buffer[..read]));
                }
            }
        }
    });
    wait("the screen", || drawn.lock().unwrap().contains("LIVE"));
    let mut keys = pair.master.take_writer().unwrap();
    let mut press = |text: &str| {
        keys.write_all(text.as_bytes()).unwrap();
        keys.flush().unwrap();
        thread::sleep(LOOK);
    };
    // The fields of the form: filename, and further down runtime and direct.
    press("4");
    press("\r");
    press(&job.targets[0].to_string_lossy());
    press("\r");
    press("jjjjj\r\u{15}");
    press(&format!("{}s\r", job.seconds));
    press(if job.direct { "" } else { "jj\u{1b}[D" });
    press("r");
    let record = || {
        let lines = fs::read(store::file::<RunRecord>(state.path())).ok()?;
        lines.split(|byte| *byte == b'\n').find_map(store::parse::<RunRecord>)
    };
    wait("the record of the test", || record().is_some());
    let run = record().unwrap().run;
    assert!(run.workload.direct == job.direct && run.targets[0].errors == 0, "{run:?}");
    let runtime = run.workload.runtime.unwrap().as_secs();
    assert!(runtime == u64::from(job.seconds), "{runtime} s instead of {}", job.seconds);
    press("q");
    child.wait().unwrap();
    run.iops()
}

fn wait(what: &str, came: impl Fn() -> bool) {
    assert!(
        (0..300).any(|_| came() || {
            thread::sleep(LOOK);
            false
        }),
        "{what} did not come"
    );
}
