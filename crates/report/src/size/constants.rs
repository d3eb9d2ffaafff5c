//! Constants with their values and sources.

use crate::block::{Paint, plain};
use crate::format;
use crate::terminal::text::Screen;
use unblink_artifact::size::Constant;

/// Their names are what `--set` takes, so none is cut: a source for which there is no room goes on below.
pub(super) fn constants(screen: &mut Screen, name: &str, all: &[Constant]) {
    if all.is_empty() {
        return;
    }
    screen.heading(name, "");
    let values: Vec<String> = all.iter().map(|one| format::number(one.value)).collect();
    let name_width = all.iter().map(|one| one.name.chars().count()).max().unwrap_or(0);
    let value_width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    for (Constant { name, source, .. }, value) in all.iter().zip(&values) {
        let known = format!("  {name:<name_width$}  {value:>value_width$}");
        let row = format!("{known}  {source}");
        if row.chars().count() <= screen.width() {
            screen.line(&[plain(row)]);
        } else {
            screen.line(&[plain(known)]);
            screen.paragraph(4, Paint::Plain, source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;

    /// However narrow it is, each constant has its whole name and its whole source.
    #[test]
    fn names_of_constants_are_never_cut() {
        let one = |name: &str, value: f64, source: &str| Constant {
            name: name.into(),
            value,
            source: source.into(),
            is_given: true,
        };
        let slower = "reckoned: 1 s of cpu_us_per_request; the server was the slower one";
        let all = [
            one("cpu_us_per_connection_tls", 431.0, "measured here: 4 096 requests"),
            one("ceiling_per_s", 132_450.0, slower),
            one("ports", 28_232.0, "--set"),
        ];
        for width in [40, 60, 80, 120] {
            let mut screen = Screen::new(&Style { width, color: false });
            constants(&mut screen, "Constants", &all);
            let text = screen.finish();
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for Constant { name, source, .. } in &all {
                let is_first = |line: &str| line.split_whitespace().next() == Some(name.as_str());
                assert!(text.lines().any(is_first) && flat.contains(source), "{width}: {text}");
            }
        }
    }
}
