//! Captures of laboratory machines with made-up ids, models and links and a real kernel: every planted fault is
//! found, and nothing else is above information.

use iodyno::{findings::Finding, model::Severity, source::capture::TextRoot};

use super::scene::Scene;

/// Findings that would be false on a machine without anything wrong at its links.
const LINKS: [&str; 4] = ["link-downtrained", "slot-limited", "link-capped-by-software", "link-errors"];

fn capture(text: &str) -> Scene {
    Scene::from(TextRoot::parse(text).unwrap().into_capture())
}

fn loud(found: &[Finding]) -> Vec<(&str, Severity, Vec<&str>)> {
    found
        .iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| {
            let about = finding.subjects.iter().map(|subject| subject.name.as_str()).collect();
            (finding.id.0, finding.severity, about)
        })
        .collect()
}

/// Two cards of four drives under one root complex, two drives under another, a sleeping graphics card on a third.
#[test]
fn two_cards_under_one_root_complex_and_a_sleeping_graphics_card() {
    let found = capture(include_str!("../fixtures/a-shared-rc.capture")).look();
    let drives = ["nvme2n1", "nvme3n1", "nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1", "nvme8n1", "nvme9n1"];
    let about = [&["0000:20"][..], &drives].concat();
    assert_eq!(loud(&found), [("shared-root-complex", Severity::Warning, about)]);
    let finding = &found[0];
    let swap = "with the graphics card in 0000:a0 (NVIDIA GeForce RTX 4090, port 0000:a0:00.0)";
    assert!(finding.remedy.text.contains(swap), "{}", finding.remedy.text);
    assert_eq!(finding.gain.bytes_per_second, None, "the limit of that host bridge is unknown");
    for id in LINKS {
        assert!(Scene::of(&found, id).is_empty(), "{id}: the graphics card sleeps, as it should");
    }
}

/// Emulated drives at 2.5 GT/s x1 in ports that could do more, and a switch whose ports do not know their links.
#[test]
fn links_of_an_emulator_that_look_downtrained_and_are_not() {
    let found = capture(include_str!("../fixtures/d-stock-qemu.capture")).look();
    assert_eq!(loud(&found), []);
    for id in LINKS {
        assert!(Scene::of(&found, id).is_empty(), "{id}");
    }
    assert!(Scene::of(&found, "oversubscribed-hop").is_empty(), "what is emulated crosses no switch");
}

/// Four drives behind an uplink of eight lanes, one of them on two lanes; links trained too slow, slots too slow for their
/// drives, a drive that rates its 4096 B format better, a sleeping graphics card.
#[test]
fn a_narrow_switch_with_a_narrow_link_behind_it() {
    let found = capture(include_str!("../fixtures/c-narrow-switch.capture")).look();
    let expected = vec!["0000:21:00.0", "nvme0n1", "nvme4n1", "nvme6n1", "nvme7n1"];
    let mut findings = loud(&found);
    for (_, _, about) in &mut findings {
        about.sort_unstable();
    }
    assert_eq!(
        findings,
        [
            ("oversubscribed-hop", Severity::Warning, expected),
            ("link-downtrained", Severity::Warning, vec!["nvme1n1"]),
            ("lba-512", Severity::Warning, vec!["nvme2n1"]),
            ("link-downtrained", Severity::Warning, vec!["nvme6n1"]),
        ]
    );
    let narrow = Scene::of(&found, "link-downtrained")[1];
    assert!(narrow.title.contains("Gen4 x2 (16 GT/s)"), "{}", narrow.title);
    assert_eq!(narrow.gain.bytes_per_second, None, "with all busy, the uplink is what holds it back");
    assert!(narrow.gain.text.ends_with("for one busy drive; none with all busy"), "{}", narrow.gain.text);
    let mut limited: Vec<_> = Scene::of(&found, "slot-limited")
        .iter()
        .map(|finding| (finding.subjects[0].name.as_str(), finding.severity))
        .collect();
    limited.sort_unstable();
    assert_eq!(limited, [("nvme2n1", Severity::Info), ("nvme3n1", Severity::Info)]);
}
