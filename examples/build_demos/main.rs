//! Writes the captures of the built-in demos, `assets/demos/*.capture`, from their descriptions beside them:
//! `cargo run --example build_demos`.

use std::path::Path;

#[path = "generator.rs"]
mod generator;

#[expect(clippy::disallowed_methods, reason = "this example exists to write these files")]
fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demos");
    for (name, capture) in generator::build(&folder)? {
        let path = folder.join(format!("{name}.capture"));
        println!("{} {} KiB", path.display(), capture.len() / 1024);
        std::fs::write(path, capture)?;
    }
    Ok(())
}
