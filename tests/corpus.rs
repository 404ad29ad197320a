//! The fuzz targets over their seeds, and over damaged copies of them: what needs no nightly toolchain.
//!
//! `cargo test --test corpus -- --ignored --nocapture` fuzzes each for ten seconds (`IODYNO_FUZZ_SECONDS`). `cargo +nightly fuzz
//! run NAME` and `.ci/long` run the same bodies with inputs that libFuzzer makes.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]
#![expect(clippy::disallowed_methods, reason = "fuzzing ends by the clock and keeps what fails")]

extern crate self as libfuzzer_sys;

use std::{
    borrow::Cow,
    fs, panic,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

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

/// A target: its name, how many damaged copies of each seed are tried, and its body.
type Target = (&'static str, usize, fn(&[u8]));

const TARGETS: [Target; 20] = [
    ("activity", 100, |input| {
        let part = |at: usize| &input[input.len() * at / 24..input.len() * (at + 1) / 24];
        activity::run([std::array::from_fn(part), std::array::from_fn(|at| part(at + 12))]);
        activity::run([[input; 12], [input; 12]]);
    }),
    ("arm", 500, |input| arm::run(&text(input))),
    ("capture", 20, |input| capture::run(&text(input))),
    ("config", 200, |input| config::run(&text(input))),
    ("config_space", 300, |input| config_space::run(input)),
    ("counters", 100, |input| {
        let text = text(input);
        let (before, after) = halves(&text);
        counters::run((before.as_bytes(), after.as_bytes(), 1000));
    }),
    ("groups", 100, |input| {
        groups::run(std::array::from_fn(|at| &input[input.len() * at / 12..input.len() * (at + 1) / 12]));
        groups::run([input; 12]);
    }),
    ("jobfile", 300, |input| jobfile::run(&text(input))),
    ("journal", 50, |input| journal::run(input)),
    ("listing", 20, |input| listing::run(input)),
    ("measured", 500, |input| measured::run(&text(input))),
    ("moves", 40, |input| moves::run(halves(&text(input)))),
    ("names", 300, |input| names::run(input)),
    ("paste", 300, |input| paste::run(&text(input))),
    ("profile", 300, |input| {
        profile::run((input, input, 0x5581_2000_1000));
        profile::run((&input[input.len() / 2..], &input[..input.len() / 2], 0xffff_ffff_8100_0100));
    }),
    ("records", 300, |input| records::run(input)),
    ("redact", 100, |input| {
        let text = text(input);
        let (path, content) = halves(&text);
        redact::run((path, content.as_bytes()));
        for path in
            ["/proc/cmdline", "/etc/udev/rules.d/60-io.rules", "/proc/1/mountinfo", "/proc/interrupts"]
        {
            redact::run((path, text.as_bytes()));
        }
    }),
    ("rules", 200, |input| rules::run(&text(input))),
    ("run", 200, |input| run::run(input)),
    ("smbios", 300, |input| smbios::run(input)),
];

/// An input as text: what is no UTF-8 is none.
fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// The first part of a pair ends at the middle.
fn halves(text: &str) -> (&str, &str) {
    let middle = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap_or(0);
    text.split_at(middle)
}

/// The seeds of a target, by name.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Every target has its row above, its place in the program of all, and its seeds.
#[test]
fn all_targets_are_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [manifest, plain] =
        ["Cargo.toml", "plain.rs"].map(|file| fs::read_to_string(root.join("fuzz").join(file)).unwrap());
    for target in fs::read_dir(root.join("fuzz/fuzz_targets")).unwrap() {
        let target = target.unwrap().path();
        let name = target.file_stem().unwrap().to_str().unwrap();
        assert!(TARGETS.iter().any(|(row, ..)| *row == name), "{name} is not replayed");
        assert!(plain.contains(&format!("fuzz_targets/{name}.rs\" {name},")), "{name} in fuzz/plain.rs");
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

/// Seeds of these targets, whole and with one to four damages each.
fn replay(targets: &[Target]) {
    let mut state = 0x10d_1770;
    for (name, copies, run) in targets {
        for seed in seeds(name) {
            run(&seed);
            for copy in 0..*copies {
                let mut input = seed.clone();
                (0..=copy % 4).for_each(|_| input = damaged(&input, &mut state));
                run(&input);
            }
        }
    }
}

#[test]
fn first_half_of_the_targets() {
    replay(&TARGETS[..10]);
}

#[test]
fn second_half_of_the_targets() {
    replay(&TARGETS[10..]);
}

/// Damages inputs anew until the time is over: an input comes from a seed or from the input before. The number of inputs.
fn fuzz((name, _, run): Target, time: Duration) -> u64 {
    let seeds = seeds(name);
    let mut state = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos().into();
    let (mut input, mut inputs, began) = (Vec::new(), 0, Instant::now());
    while began.elapsed() < time {
        if next(&mut state).is_multiple_of(8) || input.is_empty() {
            input.clone_from(&seeds[below(&mut state, seeds.len())]);
        }
        input = damaged(&input, &mut state);
        input.truncate(LONGEST);
        if let Err(panic) = panic::catch_unwind(|| run(&input)) {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{inputs}"));
            fs::write(&path, &input).unwrap();
            println!("{name}: this input fails: {}", path.display());
            panic::resume_unwind(panic);
        }
        inputs += 1;
    }
    inputs
}

/// Inputs are no longer, so that a slow one does not take the time of all others.
const LONGEST: usize = 1 << 16;

#[test]
#[ignore = "takes ten seconds for each target"]
fn for_a_time() {
    let seconds = std::env::var("IODYNO_FUZZ_SECONDS").map_or(10, |seconds| seconds.parse().unwrap());
    for target in TARGETS {
        let inputs = fuzz(target, Duration::from_secs(seconds));
        println!("{}: {inputs} inputs in {seconds} s", target.0);
        assert!(inputs > 0);
    }
}
