//! Temperatures: the hwmon device of a drive's controller (`nvme`) or disk (`drivetemp`).

use crate::{
    machine::Temperature,
    source::root::{SysRoot, is_numbered, label, number},
};

/// Sensors of the hwmon device below `device`, or, on older kernels, below its PCI function.
pub(super) fn read(root: &dyn SysRoot, device: &str, pci_path: Option<&str>) -> Option<Temperature> {
    let glue = |folder: &str| format!("{folder}/hwmon");
    let folders = [Some(device.to_owned()), Some(glue(device)), pci_path.map(glue)];
    let hwmon = folders.into_iter().flatten().find_map(|folder| hwmon_in(root, &folder))?;
    let celsius =
        |file: &str| number::<i64>(root, &format!("{hwmon}/{file}")).map(|milli| milli as f64 / 1000.0);
    Some(Temperature {
        now: celsius("temp1_input"),
        max: celsius("temp1_max"),
        critical: celsius("temp1_crit"),
    })
}

/// The first hwmon device of a folder that belongs to a drive.
fn hwmon_in(root: &dyn SysRoot, folder: &str) -> Option<String> {
    let names = root.list(folder).ok()?;
    let hwmons = names.iter().filter(|name| is_numbered(name, "hwmon"));
    hwmons.map(|name| format!("{folder}/{name}")).find(|hwmon| {
        let driver = label(root, &format!("{hwmon}/name"));
        driver.value().is_some_and(|name| *name == "nvme" || *name == "drivetemp")
    })
}
