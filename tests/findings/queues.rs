//! Settings of block queues.

use iodyno::model::{Pattern, Severity};

use super::scene::*;

crate::rows! {
    scheduler "scheduler" {
        fires: x570().files_ending("/queue/scheduler", "none [mq-deadline]"),
        silent: x570(),
    }
    readahead "readahead" {
        fires: x570(),
        silent: x570().files_ending("/queue/read_ahead_kb", "1024"),
    }
    max_sectors "max-sectors" {
        fires: split().test(&["nvme0n1"], |work| work.block_size.0 = 1 << 20),
        silent: split().test(&["nvme0n1"], |_| {}),
    }
    hw_sectors_below_mdts "hw-sectors-below-mdts" {
        fires: x570().files_ending("/queue/max_hw_sectors_kb", "128").with(translated),
        silent: x570().files_ending("/queue/max_hw_sectors_kb", "2048").with(translated),
    }
    nr_requests "nr-requests" {
        fires: x570().files_ending("/queue/nr_requests", "64").test(&["nvme0n1"], |work| work.depth = 128),
        silent: x570().files_ending("/queue/nr_requests", "64").test(&["nvme0n1"], |work| work.depth = 64),
    }
    iostats "iostats" {
        fires: x570(),
        silent: x570().files_ending("/queue/iostats", "0"),
    }
    nomerges "nomerges" {
        fires: x570(),
        silent: x570().files_ending("/queue/nomerges", "2"),
    }
    rq_affinity "rq-affinity" {
        fires: x570(),
        silent: x570().files_ending("/queue/rq_affinity", "2"),
    }
    wbt "wbt" {
        fires: x570(),
        silent: x570().files_ending("/queue/wbt_lat_usec", "0"),
    }
    misaligned "misaligned" {
        fires: laptop().files_ending("/nvme1n1p2/start", "1050625"),
        silent: laptop(),
    }
}

fn split() -> Scene {
    x570().files_ending("/queue/max_sectors_kb", "128").files_ending("/queue/max_hw_sectors_kb", "512")
}

fn translated(machine: &mut iodyno::machine::Machine) {
    for node in &mut machine.pci.nodes {
        node.iommu_type = iodyno::model::Reading::known("/sys/kernel/iommu_groups/1/type", label("DMA-FQ"));
    }
}

#[test]
fn mq_deadline_is_a_warning_and_kyber_a_trade() {
    let at = |text| x570().files_ending("/queue/scheduler", text);
    assert_eq!(at("none [mq-deadline]").severity("scheduler"), Some(Severity::Warning));
    assert_eq!(at("[kyber] none").severity("scheduler"), Some(Severity::Info));
    let finding = at("none [mq-deadline]").one("scheduler");
    assert_eq!(
        finding.remedy.command.unwrap(),
        "echo none | sudo tee /sys/block/{nvme0n1,nvme1n1,nvme2n1,nvme3n1}/queue/scheduler"
    );
    assert!(finding.gain.source.contains("1 149 k -> 525 k"), "{}", finding.gain.source);
}

/// A limit below the drive's own, with the IOMMU group in passthrough.
pub fn untranslated() -> Scene {
    x570().files_ending("/queue/max_hw_sectors_kb", "128").with(|machine| {
        for node in &mut machine.pci.nodes {
            node.iommu_type =
                iodyno::model::Reading::known("/sys/kernel/iommu_groups/1/type", label("identity"));
        }
    })
}

#[test]
fn the_iommu_is_blamed_only_where_it_translates() {
    let by_iommu = x570().files_ending("/queue/max_hw_sectors_kb", "128").with(translated);
    assert!(by_iommu.one("hw-sectors-below-mdts").remedy.text.contains("iommu=pt"));
    let finding = untranslated().one("hw-sectors-below-mdts");
    assert!(!finding.remedy.text.contains("iommu=pt"), "{}", finding.remedy.text);
    assert!(finding.evidence.iter().any(|proof| proof.value == "identity"));
    let bounced = untranslated().file("/proc/cmdline", "ro swiotlb=force").one("hw-sectors-below-mdts");
    assert!(bounced.remedy.text.contains("swiotlb=force"), "{}", bounced.remedy.text);
    let noforce = untranslated().file("/proc/cmdline", "ro swiotlb=noforce").one("hw-sectors-below-mdts");
    assert!(noforce.remedy.text.starts_with("Information only"), "{}", noforce.remedy.text);
}

#[test]
fn a_disk_that_is_no_nvme_drive_may_have_its_scheduler() {
    let scene = x570().files_ending("/queue/scheduler", "none [mq-deadline]").with(|machine| {
        for drive in &mut machine.drives {
            drive.kind = iodyno::machine::DriveKind::Sata;
            drive.nvme = None;
        }
    });
    assert_eq!(scene.severity("scheduler"), None);
}

#[test]
fn what_every_machine_has_as_delivered_is_one_row_at_the_end() {
    let found = x570().look();
    let last = found.last().unwrap();
    assert_eq!(last.id.0, "defaults");
    assert_eq!(last.severity, Severity::Info);
    let folded: Vec<_> = last.folds.iter().map(|id| id.0).collect();
    for id in ["no-poll-queues", "readahead", "iostats", "nomerges", "rq-affinity", "wbt"] {
        assert!(folded.contains(&id), "{id} in {folded:?}");
        assert!(!found.iter().any(|finding| finding.id.0 == id), "{id} is folded");
    }
    for id in &folded {
        assert!(last.title.contains(id), "{} names {id}", last.title);
    }
}

#[test]
fn a_workload_that_shows_the_cost_takes_a_default_out_of_the_fold() {
    let buffered = x570().test(&["nvme0n1"], |work| {
        work.direct = false;
        work.pattern = Pattern::Sequential;
    });
    assert_eq!(buffered.one("readahead").subjects.len(), 1);
    let full = x570().test(&["nvme0n1"], |_| {}).busy(32, 100.0);
    assert_eq!(full.one("nomerges").severity, Severity::Info);
    assert_eq!(full.one("iostats").subjects[0].name, "nvme0n1");
    assert_eq!(x570().writes("nvme1n1", 500e6).one("wbt").subjects[0].name, "nvme1n1");
    assert_eq!(x570().test(&["nvme0n1"], |_| {}).busy(32, 10.0).severity("nomerges"), None);
}

#[test]
fn a_small_partition_off_the_grid_is_boot_code() {
    let scene = laptop().files_ending("/nvme1n1p1/start", "34").files_ending("/nvme1n1p1/size", "2014");
    assert_eq!(scene.severity("misaligned"), None);
}
