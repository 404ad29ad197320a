//! How well the capacity model explains published figures: each beside what the model says of it, whether constants were
//! fitted to it, what it depends on, and what the model says of it when the fit does without it.
//! `cargo run --example figures`

mod constants;
mod fit;
mod rows;
mod table;
mod table_text;

fn main() -> anyhow::Result<()> {
    for line in table_text::lines()? {
        println!("{line}");
    }
    Ok(())
}
