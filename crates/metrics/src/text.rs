//! The text format of Prometheus (0.0.4) and OpenMetrics. Exemplars and timestamps are passed over.

use crate::sample::{Kind, Labels, Page, PageError, Sample, Value};
use crate::{PAGE_BYTES_MAX, SAMPLES_MAX};

/// Reads a page.
///
/// # Errors
/// The first line that is not as it must be.
pub fn page(bytes: &[u8]) -> Result<Page, PageError> {
    if bytes.len() > PAGE_BYTES_MAX {
        return Err(PageError::TooLong);
    }
    let mut page = Page::default();
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
        let wrong = |what: String| PageError::Line { line: number + 1, what };
        let line = std::str::from_utf8(line).map_err(|_| wrong("is not UTF-8".into()))?.trim();
        if line == "# EOF" {
            break;
        }
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if words.next() == Some("TYPE")
                && let (Some(name), Some(kind)) = (words.next(), words.next())
            {
                page.kinds.insert(name.trim_matches('"').to_string(), kind_called(kind));
            }
        } else if !line.is_empty() {
            if page.samples.len() == SAMPLES_MAX {
                return Err(PageError::TooMany);
            }
            page.samples.push(sample(line).map_err(wrong)?);
        }
    }
    Ok(page)
}

fn kind_called(name: &str) -> Kind {
    match name {
        "counter" => Kind::Counter,
        "gauge" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        _ => Kind::Other,
    }
}

/// `name{label="value"} 1.5 [timestamp]`.
fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace()).unwrap_or(line.len());
    let (name, rest) = (&line[..end], line[end..].trim_start());
    let mut name = name.to_string();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => {
            let (quoted_name, labels, rest) = labels(inner)?;
            match (quoted_name, name.is_empty()) {
                (Some(quoted), true) => name = quoted,
                (None, false) => {}
                _ => return Err("it has no name, or two".into()),
            }
            (labels, rest)
        }
        None => (Labels::new(), rest),
    };
    if name.is_empty() {
        return Err("it has no name".into());
    }
    let value = rest.split_ascii_whitespace().next().ok_or("it has no value")?;
    let value = value.parse::<f64>().map_err(|_| format!("{value:?} is not a number"))?;
    Ok(Sample { name, labels, value: Value::Number(value) })
}

/// Labels up to the closing brace, and what follows it. A name in quotes may come first.
pub(crate) fn labels(text: &str) -> Result<(Option<String>, Labels, &str), String> {
    let (mut name, mut labels, mut rest) = (None, Labels::new(), text.trim_start());
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            labels.sort_unstable();
            if labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Err("it has a label twice".into());
            }
            return Ok((name, labels, rest));
        }
        let key = match rest.strip_prefix('"') {
            Some(inner) => {
                let (key, behind) = unquoted(inner)?;
                rest = behind.trim_start();
                if !rest.starts_with('=') && name.is_none() && labels.is_empty() {
                    name = Some(key);
                    rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                    continue;
                }
                key
            }
            None => {
                let end = rest.find('=').ok_or("a label has no =")?;
                let key = rest[..end].trim().to_string();
                rest = &rest[end..];
                key
            }
        };
        if key.is_empty() {
            return Err("a label has no name".into());
        }
        rest = rest.strip_prefix('=').ok_or("a label has no =")?.trim_start();
        let (value, behind) = unquoted(rest.strip_prefix('"').ok_or("a label's value has no quotes")?)?;
        labels.push((key, value));
        rest = behind.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if rest.starts_with('}') => rest,
            None => return Err("a comma or } is missing after a label".into()),
        };
    }
}

/// The text up to the closing quote, and what follows it.
pub(crate) fn unquoted(text: &str) -> Result<(String, &str), String> {
    let (mut out, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((out, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, c @ ('\\' | '"'))) => out.push(c),
                // As Prometheus reads it: a backslash that escapes nothing stands for itself.
                Some((_, c)) => out.extend(['\\', c]),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err("a closing quote is missing".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<(String, Labels, f64), String> {
        let Sample { name, labels, value: Value::Number(value) } = sample(line)? else { panic!("a number") };
        Ok((name, labels, value))
    }

    fn pairs(all: &[(&str, &str)]) -> Labels {
        all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn lines_are_read_as_both_formats_write_them() {
        for (line, name, labels, value) in [
            ("up 1", "up", &[][..], 1.0),
            ("up{} 1", "up", &[], 1.0),
            ("x_total{b=\"2\",a=\"1\",} 3 1700000000000", "x_total", &[("a", "1"), ("b", "2")], 3.0),
            ("x {a = \"}\"} -1e3", "x", &[("a", "}")], -1000.0),
            ("x{a=\"q\\\"\\\\\\n\\d,\"} 1", "x", &[("a", "q\"\\\n\\d,")], 1.0),
            ("x_bucket{le=\"+Inf\"} 7 # {trace_id=\"a\"} 0.3", "x_bucket", &[("le", "+Inf")], 7.0),
            ("{\"my.metric\",a=\"1\"} 5", "my.metric", &[("a", "1")], 5.0),
            ("x +Inf", "x", &[], f64::INFINITY),
            ("ü{ä=\"ö\"} 1", "ü", &[("ä", "ö")], 1.0),
        ] {
            assert_eq!(one(line), Ok((name.into(), pairs(labels), value)), "{line}");
        }
        assert!(one("x NaN").expect("a sample").2.is_nan());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (line, said) in [
            ("x", "no value"),
            ("x{a=\"1\"}", "no value"),
            ("x 1,5", "\"1,5\" is not a number"),
            ("x 0x", "not a number"),
            ("x{a=\"1} 5", "closing quote"),
            ("x{a=\"1\\", "closing quote"),
            ("x{a=1} 5", "no quotes"),
            ("x{a} 5", "no ="),
            ("x{=\"1\"} 5", "no name"),
            ("x{a=\"1\" b=\"2\"} 5", "comma or }"),
            ("x{a=\"1\",a=\"2\"} 5", "twice"),
            ("x{a=\"1\",", "no ="),
            ("{a=\"1\"} 5", "no name"),
            ("x{\"y\"} 5", "or two"),
        ] {
            let why = one(line).expect_err(line);
            assert!(why.contains(said), "{line}: {why}");
        }
        let error = page(b"up 1\n\nx y\n").expect_err("a wrong line");
        assert_eq!(error.to_string(), "line 3 of the page: \"y\" is not a number");
        assert!(matches!(page(b"a\xff 1"), Err(PageError::Line { line: 1, .. })));
        assert_eq!(page(&vec![b'\n'; PAGE_BYTES_MAX + 1]), Err(PageError::TooLong));
    }

    #[test]
    fn kinds_are_known_and_nothing_follows_the_end() {
        let text = b"# HELP x says\n# TYPE x counter\nx_total 4\n# EOF\nnonsense here\n";
        let page = page(text).expect("a page");
        assert_eq!((page.samples.len(), page.kinds.get("x")), (1, Some(&Kind::Counter)));
        assert_eq!(page.names(), ["x_total"]);
    }
}
