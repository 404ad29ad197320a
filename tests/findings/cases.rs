//! The cases of `docs/cases.md`: each machine as the thread describes it, and the finding that names its cause; for causes that
//! no finding names, the test that its row states.

use iodyno::{experiment::EXPERIMENTS, machine::DriveKind, model::Pattern};

use super::{
    layers::{behind_controller, crypt, firmware, old_raid5, pooled, raid},
    links::{gen3_slot, lowered_by_the_kernel},
    load::two_channels,
    queues::untranslated,
    scene::*,
};

const TABLE: &str = include_str!("../../docs/cases.md");

/// Start of the case, its machine, and the findings that name its cause.
fn machines() -> Vec<(&'static str, Scene, &'static [&'static str])> {
    let synced =
        raid("raid10").with_md("sync_action", "check").with_md("bitmap/location", "+8").writes("md0", 1e9);
    let buffered = raid("raid0").file("/sys/devices/virtual/block/md0/queue/read_ahead_kb", "128").test(
        &["md0"],
        |work| {
            (work.direct, work.pattern) = (false, Pattern::Sequential);
        },
    );
    let behind = x570().files_ending("/queue/scheduler", "none [mq-deadline]").with(behind_controller);
    let unlike = raid("raid10").with(|machine| machine.drives[1].kind = DriveKind::Sata);
    vec![
        ("linux-raid 2021", old_raid5(), &["md-raid5-lock"]),
        ("linux-raid 2023", synced, &["md-resync", "md-bitmap"]),
        ("linux-nvme 2019", untranslated(), &["hw-sectors-below-mdts"]),
        ("linux-raid 2024", buffered, &["md-queue"]),
        ("openzfs 8381", pooled().with(two_channels), &["memory-copies"]),
        ("openzfs 16658", firmware("Samsung SSD 990 PRO 4TB", "3B2QJXD7"), &["firmware-advisory"]),
        ("zen-kernel 282", crypt("aes-xts-plain64"), &["dm-crypt-workqueues"]),
        ("Dell KB 000443257", behind, &["scheduler"]),
        ("linux-pci 2023", lowered_by_the_kernel(), &["link-capped-by-software"]),
        ("380 MB/s", gen3_slot(), &["slot-limited"]),
        ("strugglers.net", unlike, &["md-members-differ"]),
        ("spdk 1272", firmware("INTEL SSDPE2KX040T7", "QDV101D1"), &["firmware-advisory"]),
        ("linux-block 2021", x570().files_ending("/queue/scheduler", "none [bfq]"), &["scheduler"]),
    ]
}

/// The words in backticks of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether a row's cell is a file of tests, with the names of the tests in it where it is not this one.
fn is_tested(case: &str, cell: &str) {
    let words = quoted(cell);
    let (file, names) = words.split_first().unwrap_or_else(|| panic!("{case} has no test"));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let is_this = text.contains("fn each_case_is_named_by_what_its_row_says()");
    assert_ne!(is_this, !names.is_empty(), "{case}: {cell}");
    for name in names {
        assert!(
            text.contains(&format!("#[test]\n    fn {name}()"))
                || text.contains(&format!("#[test]\nfn {name}()")),
            "{case}: no test {name}"
        );
    }
}

#[test]
fn each_case_is_named_by_what_its_row_says() {
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| case"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 17);
    let machines = machines();
    let mut named = 0;
    for row in &rows {
        let [case, _, by, tests] = row[..] else { panic!("{row:?}") };
        is_tested(case, tests);
        if by.starts_with("experiment") {
            let has = |name: &&str| EXPERIMENTS.iter().any(|row| *row.id.0 == **name);
            assert!(quoted(by).iter().all(has), "{by}");
        }
        let is_found = by.starts_with("finding");
        assert_eq!(is_found, quoted(tests) == ["tests/findings/cases.rs"], "{case}: {tests}");
        if !is_found {
            continue;
        }
        named += 1;
        let (_, scene, ids) = machines
            .iter()
            .find(|(start, ..)| case.starts_with(start))
            .unwrap_or_else(|| panic!("no machine of {case}"));
        assert_eq!(quoted(by), *ids, "{case}");
        let found = scene.look();
        for id in *ids {
            assert!(found.iter().any(|finding| finding.id.0 == *id), "{case}: no {id} in {found:#?}");
        }
    }
    assert_eq!(named, machines.len());
}
