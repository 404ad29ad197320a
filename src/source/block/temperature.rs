//! Temperatures: the hwmon device of a drive's controller (`nvme`) or disk (`drivetemp`).

use std::collections::BTreeMap;

use crate::{
    machine::Temperature,
    model::Reading,
    source::root::{SysRoot, label, number},
    text::Label,
};

/// Sensors of the hwmon device below `device`, or, on older kernels, below its PCI function.
pub(super) fn read(root: &dyn SysRoot, device: &str, pci_path: Option<&str>) -> Option<Temperature> {
    let glue = |folder: &str| format!("{folder}/hwmon");
    let folders = [Some(device.to_owned()), Some(glue(device)), pci_path.map(glue)];
    let hwmon = folders.into_iter().flatten().find_map(|folder| hwmon_in(root, &folder))?;
    let celsius =
        |file: &str| number::<i64>(root, &format!("{hwmon}/{file}")).map(|milli| milli as f64 / 1000.0);
    let numbers = |name: &String| name.strip_prefix("temp")?.strip_suffix("_input")?.parse::<u32>().ok();
    let mut sensors: Vec<u32> = root.list(&hwmon).unwrap_or_default().iter().filter_map(numbers).collect();
    sensors.sort_unstable();
    let others: BTreeMap<Label, Reading<f64>> = sensors
        .into_iter()
        .filter(|sensor| *sensor != 1)
        .map(|sensor| {
            let name = label(root, &format!("{hwmon}/temp{sensor}_label"));
            let name = name.value().cloned().unwrap_or_else(|| Label::new(&format!("temp{sensor}")));
            (name, celsius(&format!("temp{sensor}_input")))
        })
        .collect();
    Some(Temperature {
        now: celsius("temp1_input"),
        max: celsius("temp1_max"),
        critical: celsius("temp1_crit"),
        sensors: others,
    })
}

/// The first hwmon device of a folder that belongs to a drive.
fn hwmon_in(root: &dyn SysRoot, folder: &str) -> Option<String> {
    let names = root.list(folder).ok()?;
    let is_hwmon =
        |name: &&String| name.strip_prefix("hwmon").is_some_and(|rest| rest.parse::<u32>().is_ok());
    names.iter().filter(is_hwmon).map(|name| format!("{folder}/{name}")).find(|hwmon| {
        let driver = label(root, &format!("{hwmon}/name"));
        driver.value().is_some_and(|name| *name == "nvme" || *name == "drivetemp")
    })
}
