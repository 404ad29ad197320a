//! Any bytes as configuration space: capabilities end, registers are read whole or not at all.
#![no_main]

use iodyno::source::config_space::ConfigSpace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(config) = ConfigSpace::new(bytes) else { return };
    if let Ok(express) = config.express() {
        let is_below = |field: Option<u8>, end: u8| field.is_some_and(|field| field < end);
        assert!(is_below(express.max_width, 64) && is_below(express.width, 64) && is_below(express.port_type, 16));
        assert!(bytes.len() > 64, "capabilities are behind the header");
    }
});
