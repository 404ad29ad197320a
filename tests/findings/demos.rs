//! Findings that the demos must and must not have.

use iodyno::{findings::Finding, model::Severity};

use super::scene::*;

fn loud(found: &[Finding]) -> Vec<&str> {
    found.iter().filter(|finding| finding.severity > Severity::Info).map(|finding| finding.id.0).collect()
}

#[test]
fn eight_drives_on_one_root_complex_are_the_first_finding_of_the_threadripper() {
    let found = demo("threadripper-before").look();
    assert_eq!(found[0].id.0, "shared-root-complex");
    assert_eq!(loud(&found), ["shared-root-complex"]);
    assert_eq!(loud(&demo("threadripper-after").look()), [""; 0]);
}

#[test]
fn the_x570_names_the_format_and_nothing_else() {
    assert_eq!(loud(&x570().look()), ["lba-512"]);
    assert_eq!(loud(&demo("x570-formatted").look()), [""; 0]);
}

#[test]
fn the_laptop_names_the_chipset_and_the_downtrained_link() {
    let found = laptop().look();
    assert_eq!(found[0].id.0, "link-downtrained");
    let chipset = laptop().one("chipset-uplink");
    assert!(chipset.subjects.iter().any(|subject| subject.name == "nvme1n1"), "{chipset:#?}");
    assert_eq!(loud(&found), ["link-downtrained"]);
}

#[test]
fn every_finding_of_every_demo_is_complete_and_in_order_of_its_cost() {
    for name in iodyno::source::demo::DEMOS.iter().map(|demo| demo.name) {
        let found = demo(name).look();
        found.iter().for_each(is_complete);
        let order = |finding: &Finding| (finding.severity, finding.gain.bytes_per_second.unwrap_or(-1.0));
        let order: Vec<_> = found.iter().filter(|finding| finding.folds.is_empty()).map(order).collect();
        assert!(order.windows(2).all(|pair| pair[0] >= pair[1]), "{name}: {order:?}");
    }
}
