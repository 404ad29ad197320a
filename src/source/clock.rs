//! The current clock of the CPUs: `cpufreq/scaling_cur_freq`, else `/proc/cpuinfo`.

use super::root::{self, SysRoot, join};

/// The clock of the fastest CPU, kHz; under load that is a busy one. `None` where the kernel reports
/// nothing.
pub(crate) fn read(root: &dyn SysRoot) -> Option<f64> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    let cpus = root.list(CPUS).unwrap_or_default();
    let is_cpu = |name: &&String| {
        name.strip_prefix("cpu")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let governed = cpus.iter().filter(is_cpu).filter_map(|cpu| {
        number(root::text(root, &join(&join(CPUS, cpu), "cpufreq/scaling_cur_freq")).value()?)
    });
    governed.reduce(f64::max).or_else(|| {
        let info = root::text(root, "/proc/cpuinfo").value().cloned()?;
        let clocks = info.lines().filter_map(|line| number(line.strip_prefix("cpu MHz")?.split_once(':')?.1));
        clocks.reduce(f64::max).map(|mhz| mhz * 1e3)
    })
}
