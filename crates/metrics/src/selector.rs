//! Which series of a metric are meant: `http_requests_total{code=~"5.."}`.

use crate::sample::Labels;
use crate::text::unquoted;
use regex::Regex;
use std::fmt;

/// A name and conditions on labels, as PromQL writes them.
#[derive(Clone, Debug)]
pub struct Selector {
    /// Of the metric.
    pub name: String,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    label: String,
    is: Is,
    text: String,
    /// The same compiled, of the two that are patterns.
    pattern: Option<Regex>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    Equal,
    Other,
    Like,
    Unlike,
}

impl Is {
    const ALL: [(&'static str, Is); 4] =
        [("=~", Is::Like), ("!~", Is::Unlike), ("!=", Is::Other), ("=", Is::Equal)];

    fn sign(self) -> &'static str {
        Is::ALL.iter().find(|(_, is)| *is == self).map_or("=", |(sign, _)| sign)
    }
}

impl Selector {
    /// Reads `name`, or `name{label="value", …}` with =, !=, =~ and !~.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Selector, String> {
        let text = text.trim();
        let end = text.find('{').unwrap_or(text.len());
        let name = text[..end].trim();
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_inside) {
            return Err(format!(
                "{name:?} is not the name of a metric: write it as http_requests_total, or with labels as \
                 http_requests_total{{code=~\"5..\"}}"
            ));
        }
        let mut selector = Selector { name: name.to_string(), conditions: Vec::new() };
        let Some(mut rest) = text[end..].strip_prefix('{').map(str::trim_start) else { return Ok(selector) };
        while !rest.starts_with('}') {
            let end = rest.find(['=', '!']).ok_or("a label has no =")?;
            let label = rest[..end].trim().to_string();
            if label.is_empty() || !label.chars().all(is_inside) {
                return Err(format!("{label:?} is not the name of a label"));
            }
            let (sign, is) = Is::ALL
                .into_iter()
                .find(|(sign, _)| rest[end..].starts_with(sign))
                .ok_or("expected =, !=, =~ or !~ after a label")?;
            let value = rest[end + sign.len()..].trim_start();
            let value = value.strip_prefix('"').ok_or("a label's value must be in double quotes")?;
            let (text, behind) = unquoted(value)?;
            // A pattern has to match all of the value.
            let pattern = match is {
                Is::Like | Is::Unlike => {
                    Some(Regex::new(&format!("^(?s:{text})$")).map_err(|why| why.to_string())?)
                }
                Is::Equal | Is::Other => None,
            };
            selector.conditions.push(Condition { label, is, text, pattern });
            rest = behind.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(behind) => behind.trim_start(),
                None if rest.starts_with('}') => rest,
                None => return Err("a comma or } is missing after a label's value".into()),
            };
        }
        match rest[1..].trim() {
            "" => Ok(selector),
            more => Err(format!("{more:?} is too much: a name and its labels select a metric")),
        }
    }

    /// The same conditions on another metric.
    #[must_use]
    pub fn called(&self, name: String) -> Selector {
        Selector { name, conditions: self.conditions.clone() }
    }

    /// Does it mean the series of its metric with these labels? A label that is absent counts as empty.
    pub fn is_met_by(&self, labels: &Labels) -> bool {
        self.conditions.iter().all(|condition| {
            let found = labels.iter().find(|(name, _)| *name == condition.label);
            let value = found.map_or("", |(_, value)| value.as_str());
            let matches = || condition.pattern.as_ref().is_some_and(|pattern| pattern.is_match(value));
            match condition.is {
                Is::Equal => value == condition.text,
                Is::Other => value != condition.text,
                Is::Like => matches(),
                Is::Unlike => !matches(),
            }
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, condition) in self.conditions.iter().enumerate() {
            let Condition { label, is, text, .. } = condition;
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(f, "{}{label}{}\"{text}\"", if i == 0 { "{" } else { "," }, is.sign())?;
        }
        if self.conditions.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select() {
        let labels = |all: &[(&str, &str)]| -> Labels {
            all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let is_met = |text: &str, of: &[(&str, &str)]| {
            let selector = Selector::parse(text).expect(text);
            assert_eq!(
                Selector::parse(&selector.to_string()).expect("again").to_string(),
                selector.to_string()
            );
            selector.is_met_by(&labels(of))
        };
        assert!(is_met("x", &[("code", "200")]));
        assert!(is_met("x{code=\"200\"}", &[("code", "200")]));
        assert!(!is_met("x{code=\"200\"}", &[]));
        assert!(is_met("x{code!=\"200\", job=\"a\\\"b\"}", &[("code", "500"), ("job", "a\"b")]));
        assert!(is_met("x{code=~\"5..\"}", &[("code", "503")]));
        assert!(!is_met("x{code=~\"5.\"}", &[("code", "503")]), "a pattern matches all of it");
        assert!(is_met("x{code!~\"5..|4..\",}", &[("code", "200")]));
        assert!(is_met("x{a=\"\"}", &[]));
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "",
            "{a=\"1\"}",
            "9x",
            "sum(x)",
            "x{",
            "x{a}",
            "x{a=1}",
            "x{a=\"1\"",
            "x{a=\"1\"} 5",
            "x{a=~\"(\"}",
            "x[5m]",
            "x{a>\"1\"}",
            "x{=\"1\"}",
            "x{a=\"1\" b=\"2\"}",
        ] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
