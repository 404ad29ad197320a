//! Readers over roots of every kind: laboratory machines, broken files, this machine.

use std::{collections::BTreeSet, process::Command};

use iodyno::source::{ids::Database, pci, root::LiveRoot};

#[test]
fn this_machine_has_the_devices_that_lspci_tells() {
    let Ok(lspci) = Command::new("lspci").arg("-D").output() else {
        eprintln!("no lspci here: nothing to compare with");
        return;
    };
    let told: BTreeSet<String> = String::from_utf8_lossy(&lspci.stdout)
        .lines()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    let (tree, problems) = pci::read(&LiveRoot::new(), &Database::embedded());
    let read: BTreeSet<String> = tree
        .iter()
        .filter(|(_, node)| node.parent.is_some())
        .map(|(_, node)| node.address.to_string())
        .collect();
    assert_eq!(read, told);
    assert_eq!(problems, []);
}
