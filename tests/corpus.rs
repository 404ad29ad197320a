//! The fuzz targets over their seeds, and over damaged copies of them: what needs no nightly toolchain.
//!
//! `cargo +nightly fuzz run NAME` and `.ci/long` run the same bodies with inputs that libFuzzer makes.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

extern crate self as libfuzzer_sys;

use std::{fs, path::Path};

/// In place of libFuzzer's macro: a function with the target's body.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: $type:ty| $body:block) => {
        pub fn run($data: $type) $body
    };
}

macro_rules! targets {
    ($($path:literal $name:ident,)*) => {
        $(
            #[path = $path]
            #[allow(unused_attributes, warnings, clippy::pedantic, reason = "to libFuzzer, a crate of its own")]
            mod $name;
        )*
    };
}

targets! {
    "../fuzz/fuzz_targets/activity.rs" activity,
    "../fuzz/fuzz_targets/arm.rs" arm,
    "../fuzz/fuzz_targets/capture.rs" capture,
    "../fuzz/fuzz_targets/config.rs" config,
    "../fuzz/fuzz_targets/config_space.rs" config_space,
    "../fuzz/fuzz_targets/counters.rs" counters,
    "../fuzz/fuzz_targets/groups.rs" groups,
    "../fuzz/fuzz_targets/jobfile.rs" jobfile,
    "../fuzz/fuzz_targets/journal.rs" journal,
    "../fuzz/fuzz_targets/listing.rs" listing,
    "../fuzz/fuzz_targets/measured.rs" measured,
    "../fuzz/fuzz_targets/moves.rs" moves,
    "../fuzz/fuzz_targets/names.rs" names,
    "../fuzz/fuzz_targets/paste.rs" paste,
    "../fuzz/fuzz_targets/profile.rs" profile,
    "../fuzz/fuzz_targets/records.rs" records,
    "../fuzz/fuzz_targets/redact.rs" redact,
    "../fuzz/fuzz_targets/rules.rs" rules,
    "../fuzz/fuzz_targets/run.rs" run,
    "../fuzz/fuzz_targets/smbios.rs" smbios,
}

/// Every target has its row above and its seeds.
#[test]
fn all_targets_are_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = fs::read_to_string(root.join("tests/corpus.rs")).unwrap();
    let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    for target in fs::read_dir(root.join("fuzz/fuzz_targets")).unwrap() {
        let target = target.unwrap().path();
        let name = target.file_stem().unwrap().to_str().unwrap();
        assert!(own.contains(&format!("{name}::run")), "{name} is not replayed");
        assert!(root.join("fuzz/corpus").join(name).is_dir(), "{name} has no seeds");
        assert_eq!(manifest.matches(&format!("name = \"{name}\"")).count(), 1, "{name} in fuzz/Cargo.toml");
    }
}

/// The next number of a generator with a fixed seed (`splitmix64`).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number below `bound`, which is not zero.
fn below(state: &mut u64, bound: usize) -> usize {
    usize::try_from(next(state) % u64::try_from(bound).unwrap()).unwrap()
}

/// A copy with bytes changed, a part cut out, or a part twice.
fn damaged(seed: &[u8], state: &mut u64) -> Vec<u8> {
    let mut copy = seed.to_vec();
    if copy.is_empty() {
        return copy;
    }
    let (one, other) = (below(state, copy.len()), below(state, copy.len()));
    let part = one.min(other)..one.max(other);
    match next(state) % 4 {
        0 => drop(copy.drain(part)),
        1 => copy.extend_from_slice(&seed[part]),
        2 => copy[one] = b" \n0-9\x00\xff:,=@/"[below(state, 12)],
        _ => copy[one] ^= 1 << (next(state) % 8),
    }
    copy
}

/// Seeds of a target, whole and with one to four damages each.
fn each_input(target: &str, copies: usize, mut run: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{}", folder.display());
    let mut state = 0x10d_1770;
    for path in seeds {
        let seed = fs::read(path).unwrap();
        run(&seed);
        for copy in 0..copies {
            let mut input = seed.clone();
            (0..=copy % 4).for_each(|_| input = damaged(&input, &mut state));
            run(&input);
        }
    }
}

/// Text inputs: what is no UTF-8 is none.
fn each_text(target: &str, copies: usize, mut run: impl FnMut(&str)) {
    each_input(target, copies, |input| run(&String::from_utf8_lossy(input)));
}

#[test]
fn texts() {
    each_text("capture", 20, capture::run);
    each_text("arm", 500, arm::run);
    each_text("jobfile", 300, jobfile::run);
    each_text("measured", 500, measured::run);
    each_text("rules", 200, rules::run);
    each_text("config", 200, config::run);
    each_text("paste", 300, paste::run);
}

#[test]
fn bytes() {
    each_input("records", 300, records::run);
    each_input("run", 200, run::run);
    each_input("journal", 50, journal::run);
    each_input("smbios", 300, smbios::run);
    each_input("config_space", 300, config_space::run);
    each_input("listing", 20, listing::run);
    each_input("names", 300, names::run);
}

/// The first part of a pair ends at its last line end or at the middle.
fn halves(text: &str) -> (&str, &str) {
    let middle = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap_or(0);
    text.split_at(middle)
}

#[test]
fn several_parts() {
    each_text("moves", 40, |text| moves::run(halves(text)));
    each_text("redact", 100, |text| {
        let (path, content) = halves(text);
        redact::run((path, content.as_bytes()));
        for path in
            ["/proc/cmdline", "/etc/udev/rules.d/60-io.rules", "/proc/1/mountinfo", "/proc/interrupts"]
        {
            redact::run((path, text.as_bytes()));
        }
    });
    each_text("counters", 100, |text| {
        let (before, after) = halves(text);
        counters::run((before.as_bytes(), after.as_bytes(), 1000));
    });
    each_input("groups", 100, |input| {
        groups::run(std::array::from_fn(|at| &input[input.len() * at / 12..input.len() * (at + 1) / 12]));
        groups::run([input; 12]);
    });
    each_input("profile", 300, |input| {
        profile::run((input, input, 0x5581_2000_1000));
        profile::run((&input[input.len() / 2..], &input[..input.len() / 2], 0xffff_ffff_8100_0100));
    });
    each_input("activity", 100, |input| {
        let part = |at: usize| &input[input.len() * at / 24..input.len() * (at + 1) / 24];
        activity::run([std::array::from_fn(part), std::array::from_fn(|at| part(at + 12))]);
        activity::run([[input; 12], [input; 12]]);
    });
}
