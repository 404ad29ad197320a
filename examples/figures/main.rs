//! How well the capacity model explains what people published: every figure beside what the model makes of it.
//! `cargo run --example figures`

#[path = "rows.rs"]
mod rows;

fn main() -> anyhow::Result<()> {
    for used in [rows::Use::Calibrated, rows::Use::Predicted] {
        println!("{}", used.title());
        println!("{:<62} {:>11} {:>11} {:>7}", "work", "published", "model", "off");
        for row in rows::ROWS.iter().filter(|row| row.used == used) {
            let model = row.model()?;
            let off = row.off(model);
            println!(
                "{:<62} {:>11} {:>11} {:>+6.1}%",
                row.work,
                row.metric.show(row.published),
                row.metric.show(model),
                off * 100.0
            );
            if let Some(why) = row.why {
                println!("    {why}");
            }
        }
        println!();
    }
    Ok(())
}
