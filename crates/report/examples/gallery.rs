//! Writes every page, picture and terminal text of the fixtures: `cargo run -p unblink-report --example
//! gallery -- OUTDIR`. Documents of runs, comparisons,
//! searches and the lab that are named after it are written, too.

use std::{env, fs, io, path::Path};
use unblink_artifact::compare::COMPARE_SCHEMA;
use unblink_report::{compare, csv, demo, explain, fixture, html, knee, lab, svg, terminal};

fn main() -> io::Result<()> {
    let out = env::args().nth(1).unwrap_or_else(|| "gallery".into());
    let out = Path::new(&out);
    fs::create_dir_all(out)?;
    let mut docs: Vec<_> = fixture::all().into_iter().map(|(name, doc)| (name.to_string(), doc)).collect();
    for (i, path) in env::args().skip(2).enumerate() {
        let (name, json) = (format!("document-{}", i + 1), fs::read_to_string(path)?);
        let page = out.join(format!("{name}.html"));
        // Documents say themselves what they are.
        match serde_json::from_str::<serde_json::Value>(&json)?["schema"].as_str() {
            Some(COMPARE_SCHEMA) => fs::write(page, compare::html(&serde_json::from_str(&json)?))?,
            Some("unblink.knee/1") => fs::write(page, knee::html(&serde_json::from_str(&json)?))?,
            Some("unblink.lab/1") => {
                let doc = serde_json::from_str(&json)?;
                let drawn = lab::Drawn::new(&doc, |_| None);
                fs::write(page, drawn.html())?;
                fs::write(out.join(format!("{name}.md")), drawn.markdown())?;
                for (stem, picture) in drawn.svg() {
                    fs::write(out.join(format!("{stem}.svg")), picture)?;
                }
            }
            _ => docs.push((name, serde_json::from_str(&json)?)),
        }
    }
    fs::write(out.join("knee.html"), knee::html(&fixture::knee()))?;
    for (name, doc) in docs {
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
    for (name, doc) in fixture::compare::all() {
        fs::write(out.join(format!("compare-{name}.html")), compare::html(&doc))?;
        fs::write(out.join(format!("compare-{name}.svg")), compare::svg(&doc))?;
    }
    let story = fixture::demo();
    fs::write(out.join("demo.html"), demo::html(&story))?;
    for width in [60, 80, 120] {
        fs::write(
            out.join(format!("demo-{width}.txt")),
            demo::terminal(&story, &terminal::Style { width, color: false }),
        )?;
    }
    let lesson = fixture::explain();
    fs::write(out.join("explain.html"), explain::html(&lesson))?;
    for width in [60, 80, 120] {
        fs::write(
            out.join(format!("explain-{width}.txt")),
            explain::terminal(&lesson, &terminal::Style { width, color: false }),
        )?;
    }
    Ok(())
}
