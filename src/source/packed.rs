//! Large texts of `assets/` that `build.rs` compresses into the program.

use std::io::Read;

use flate2::read::GzDecoder;

/// One text as gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(pub(super) &'static [u8]);

/// The packed asset of that file name.
macro_rules! packed {
    ($name:literal) => {
        $crate::source::packed::Packed(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")))
    };
}
pub(super) use packed;

impl Packed {
    /// The first `most` bytes of the text.
    pub(super) fn head(self, most: u64) -> Vec<u8> {
        let mut text = Vec::new();
        // The data is from the build, and a test reads all of it: no error to report.
        let _complete = GzDecoder::new(self.0).take(most).read_to_end(&mut text);
        text
    }

    /// The whole text.
    pub(super) fn text(self) -> Vec<u8> {
        self.head(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use crate::source::{demo::DEMOS, ids};

    #[test]
    fn every_packed_text_is_its_asset() {
        let asset =
            |name: &str| std::fs::read(format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert_eq!(ids::EMBEDDED.text(), asset("pci.ids"));
        assert_eq!(ids::EMBEDDED.head(100), asset("pci.ids")[..100]);
        for demo in DEMOS {
            assert_eq!(demo.capture().into_bytes(), asset(&format!("demos/{}.capture", demo.name)));
        }
    }
}
