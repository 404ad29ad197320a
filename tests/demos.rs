//! The built-in demos: the embedded captures match their descriptions, and their trees are the published ones.

use std::path::Path;

use iodyno::source::{
    SysRoot,
    capture::{TextRoot, format},
    demo::{DEMOS, find},
};

#[path = "../examples/build_demos/generator.rs"]
mod generator;

#[test]
fn committed_captures_are_what_the_generator_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demos");
    let built = generator::build(&folder).unwrap();
    assert_eq!(built.len(), DEMOS.len());
    for demo in DEMOS {
        assert!(
            built[demo.name] == demo.capture(),
            "{}: run `cargo run --example build_demos` and commit what it writes",
            demo.name
        );
    }
}

#[test]
fn the_first_demo_is_the_published_workstation_before_its_card_moved() {
    assert_eq!(DEMOS[0].name, "threadripper-before");
    let drives_below = |name: &str, root: &str| {
        let capture = TextRoot::parse(&find(name).unwrap().capture()).unwrap();
        let below = format!("../devices/pci{root}/");
        let drives = capture.list("/sys/block").unwrap();
        drives
            .iter()
            .filter(|drive| capture.link(&format!("/sys/block/{drive}")).unwrap().starts_with(&below))
            .count()
    };
    assert_eq!(drives_below("threadripper-before", "0000:40"), 8);
    assert_eq!(drives_below("threadripper-before", "0000:20"), 2);
    assert_eq!(drives_below("threadripper-after", "0000:40"), 4);
    assert_eq!(drives_below("threadripper-after", "0000:60"), 4);
    assert_eq!(drives_below("x570", "0000:00"), 4);
    assert_eq!(drives_below("laptop", "0000:00"), 2);
}

#[test]
fn only_the_block_size_changes_when_the_drives_are_formatted() {
    let [delivered, formatted] =
        ["x570", "x570-formatted"].map(|name| format::parse(&find(name).unwrap().capture()).unwrap());
    let changed: Vec<&String> = delivered
        .answers
        .iter()
        .filter(|(path, answers)| formatted.answers.get(*path) != Some(answers))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(changed.len(), 4 * 6);
    assert!(
        changed.iter().all(|path| path.ends_with("_size") || path.ends_with("/identify-ns")),
        "{changed:?}"
    );
}
