//! Any bytes as configuration space: capabilities end, registers are read whole or not at all.
#![no_main]

use iodyno::source::config_space::ConfigSpace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(config) = ConfigSpace::new(bytes) else { return };
    if let Ok(express) = config.express() {
        assert!(express.max_width < 64 && express.width < 64 && express.port_type < 16);
        assert!(bytes.len() > 64, "capabilities are behind the header");
    }
});
