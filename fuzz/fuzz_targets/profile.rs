//! Any bytes as the kernel's symbols and a process' mappings: names are found without a panic, and none twice at an address.
#![no_main]

use iodyno::source::profile::{function_in, program_in};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|texts: (&[u8], &[u8], u64)| {
    let (symbols, mappings, address) = texts;
    let addresses = [address, u64::MAX, 0, 0xffff_ffff_8100_0010, 0x5581_2000_1000];
    for at in addresses {
        if let Some((name, _)) = function_in(symbols, at) {
            assert!(!name.is_empty() && at != 0);
        }
        let _ = program_in(mappings, at);
    }
});
