//! The program itself in a terminal, on the synthetic machine: CPU time to its first frame, and its memory.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    thread,
    time::Duration,
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::Report;

const FIRST_FRAME: Duration = Duration::from_millis(300);
const MEMORY: u64 = 80_000_000;
/// The end of the first frame: nothing is drawn after it until a key comes.
const QUIET: Duration = Duration::from_millis(300);
const ROUNDS: usize = 5;

/// Starts the program, waits for its first frame, and moves a card.
pub fn start(report: &mut Report, capture: &Path) {
    let rounds: Vec<(f64, u64)> = (0..ROUNDS).map(|_| once(capture)).collect();
    let least = rounds.iter().map(|round| round.0).fold(f64::MAX, f64::min);
    let most = rounds.iter().map(|round| round.0).fold(0.0, f64::max);
    let is_met = least <= FIRST_FRAME.as_secs_f64();
    let value = format!("{:.0} ms ({:.0} to {:.0})", least * 1e3, least * 1e3, most * 1e3);
    report.row("first frame, least CPU time of all threads", &value, Some(("300 ms", is_met)));
    let memory = rounds.iter().map(|round| round.1).max().unwrap_or(0);
    let value = format!("{:.0} MB", memory as f64 / 1e6);
    report.row("memory after `w` and 20 `j`, VmHWM", &value, Some(("80 MB", memory <= MEMORY)));
}

/// CPU seconds to the first frame, and the peak of memory in bytes.
fn once(capture: &Path) -> (f64, u64) {
    let pair = native_pty_system()
        .openpty(PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 })
        .unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(["--open".as_ref(), capture.as_os_str()]);
    command.env("TERM", "xterm-256color");
    command.env("IODYNO_STATE_DIR", capture.with_extension("state"));
    let mut child = pair.slave.spawn_command(command).unwrap();
    let id = child.process_id().unwrap();
    let mut output = pair.master.try_clone_reader().unwrap();
    let mut keys = pair.master.take_writer().unwrap();
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while matches!(output.read(&mut buffer), Ok(1..)) {}
    });
    // After the first frame the program waits for a key: its CPU time stands still.
    let still = |id| {
        let mut known = cpu_time(id);
        loop {
            thread::sleep(QUIET);
            let now = cpu_time(id);
            if now <= known + 0.011 && now > 0.0 {
                return known;
            }
            known = now;
        }
    };
    let first = still(id);
    keys.write_all(b"GGw").unwrap();
    for _ in 0..20 {
        keys.write_all(b"j").unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    still(id);
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    keys.write_all(b"q").unwrap();
    child.wait().unwrap();
    drop((keys, pair));
    reader.join().unwrap();
    (first, kib << 10)
}

/// User and system time of all threads of a process, seconds, in ticks of 10 ms.
fn cpu_time(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_ascii_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}
