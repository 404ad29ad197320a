//! All fuzz targets in one program, which is built in a fraction of the time of twenty: `.ci/fuzz SECONDS --plain`.
//!
//! `IODYNO_FUZZ_TARGET` names the target; the arguments are libFuzzer's.
#![no_main]

extern crate libfuzzer_sys as fuzzer;
extern crate self as libfuzzer_sys;

use std::sync::OnceLock;

use fuzzer::arbitrary::{Arbitrary, Unstructured};
// The macro of the real crate looks for it here.
pub use fuzzer::Corpus;

/// A target's data, made of bytes as libFuzzer's own macro makes it.
pub fn made<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

/// In place of libFuzzer's macro: a function with the target's body.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:block) => {
        pub fn run($data: &[u8]) $body
    };
    (|$data:ident: $type:ty| $body:block) => {
        pub fn run(bytes: &[u8]) {
            if let Some($data) = $crate::made::<$type>(bytes) $body
        }
    };
}

macro_rules! targets {
    ($($path:literal $name:ident,)*) => {
        $(
            #[path = $path]
            #[allow(unused_attributes, warnings, reason = "to libFuzzer, a crate of its own")]
            mod $name;
        )*

        fn target(name: &str) -> Option<fn(&[u8])> {
            match name {
                $(stringify!($name) => Some($name::run),)*
                _ => None,
            }
        }
    };
}

targets! {
    "fuzz_targets/activity.rs" activity,
    "fuzz_targets/arm.rs" arm,
    "fuzz_targets/capture.rs" capture,
    "fuzz_targets/config.rs" config,
    "fuzz_targets/config_space.rs" config_space,
    "fuzz_targets/counters.rs" counters,
    "fuzz_targets/groups.rs" groups,
    "fuzz_targets/jobfile.rs" jobfile,
    "fuzz_targets/journal.rs" journal,
    "fuzz_targets/listing.rs" listing,
    "fuzz_targets/measured.rs" measured,
    "fuzz_targets/moves.rs" moves,
    "fuzz_targets/names.rs" names,
    "fuzz_targets/paste.rs" paste,
    "fuzz_targets/profile.rs" profile,
    "fuzz_targets/records.rs" records,
    "fuzz_targets/redact.rs" redact,
    "fuzz_targets/rules.rs" rules,
    "fuzz_targets/run.rs" run,
    "fuzz_targets/smbios.rs" smbios,
}

/// Looked up once: the environment is not read for each input.
static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fuzzer::fuzz_target!(|data: &[u8]| {
    let of_environment = || {
        let name = std::env::var("IODYNO_FUZZ_TARGET").expect("IODYNO_FUZZ_TARGET names a target");
        target(&name).unwrap_or_else(|| panic!("{name} is no target"))
    };
    TARGET.get_or_init(of_environment)(data);
});
