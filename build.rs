//! Compresses the large texts under `assets/` into `OUT_DIR`, from where `src/source/packed.rs` embeds them.
#![expect(clippy::disallowed_methods, reason = "cargo's own output folder is written to")]

use std::{
    env, fs,
    io::{self, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};

const TEXTS: [&str; 6] = [
    "pci.ids",
    "demos/threadripper-before.capture",
    "demos/threadripper-after.capture",
    "demos/x570.capture",
    "demos/x570-formatted.capture",
    "demos/laptop.capture",
];

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    for text in TEXTS {
        let source = Path::new("assets").join(text);
        println!("cargo::rerun-if-changed={}", source.display());
        let name = source.file_name().ok_or_else(|| io::Error::other("an asset has a name"))?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&fs::read(&source)?)?;
        let mut file = Path::new(&out).join(name).into_os_string();
        file.push(".gz");
        fs::write(file, packed.finish()?)?;
    }
    Ok(())
}
