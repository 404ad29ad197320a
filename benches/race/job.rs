//! The workload of all racers.

use std::path::PathBuf;

#[derive(Clone)]
pub struct Job {
    pub targets: Vec<PathBuf>,
    pub direct: bool,
    /// I/Os in flight on each target.
    pub depth: usize,
    pub workers: u32,
    pub seconds: u32,
}

/// The program under test.
pub fn own() -> String {
    env!("CARGO_BIN_EXE_iodyno").to_owned()
}

impl Job {
    pub fn options(&self) -> Vec<String> {
        let targets: Vec<_> = self.targets.iter().map(|target| target.to_string_lossy()).collect();
        vec![
            "--rw=randread".to_owned(),
            "--bs=4k".to_owned(),
            format!("--direct={}", u8::from(self.direct)),
            format!("--numjobs={}", self.workers),
            format!("--runtime={}", self.seconds),
            format!("--filename={}", targets.join(":")),
        ]
    }
}
