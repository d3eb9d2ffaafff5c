//! Writes every page, picture and terminal text of the fixtures: `cargo run -p unblink-report --example
//! gallery -- OUTDIR`.

use std::{env, fs, io, path::Path};
use unblink_report::{csv, demo, fixture, html, svg, terminal};

fn main() -> io::Result<()> {
    let out = env::args().nth(1).unwrap_or_else(|| "gallery".into());
    let out = Path::new(&out);
    fs::create_dir_all(out)?;
    for (name, doc) in fixture::all() {
        fs::write(out.join(format!("{name}.html")), html::render(&doc))?;
        for (stem, picture) in svg::all(&doc) {
            fs::write(out.join(format!("{name}-{stem}.svg")), picture)?;
        }
        for width in [60, 80, 120] {
            let style = terminal::Style { width, color: false };
            fs::write(out.join(format!("{name}-{width}.txt")), terminal::render(&doc, &style))?;
        }
        let color = terminal::Style { width: 80, color: true };
        fs::write(out.join(format!("{name}.ansi")), terminal::render(&doc, &color))?;
        fs::write(out.join(format!("{name}-series.csv")), csv::series(&doc))?;
        fs::write(out.join(format!("{name}-percentiles.csv")), csv::percentiles(&doc))?;
    }
    let story = fixture::demo();
    fs::write(out.join("demo.html"), demo::html(&story))?;
    for width in [60, 80, 120] {
        fs::write(
            out.join(format!("demo-{width}.txt")),
            demo::terminal(&story, &terminal::Style { width, color: false }),
        )?;
    }
    Ok(())
}
