//! What every drive reads, a row a second for five seconds, from the kernel's counters.
//!
//! ```sh
//! cargo run --example watch
//! ```

use std::{
    error::Error,
    io::Write,
    thread,
    time::{Duration, Instant},
};

use iodyno::{
    counters,
    source::{self, origin::Origin},
    units::{self, BytesPerSecond, UnitSystem},
};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Origin::Live.open()?;
    let mut before = (source::counters::read(root.as_ref()), now());
    let mut out = std::io::stdout().lock();
    for _ in 0..5 {
        thread::sleep(Duration::from_secs(1));
        let after = (source::counters::read(root.as_ref()), now());
        let rates = counters::rates(&before.0, &after.0, after.1 - before.1);
        for (drive, rate) in &rates.disks {
            let bytes = UnitSystem::Decimal.rate(BytesPerSecond(rate.read_bytes));
            writeln!(out, "{drive:<10} {:>8} reads/s  {bytes:>10}", units::count(rate.reads))?;
        }
        writeln!(out)?;
        before = after;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a program's edge is where the clock is read")]
fn now() -> Instant {
    Instant::now()
}
