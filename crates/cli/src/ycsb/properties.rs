//! YCSB's property files: those of Java (`java.util.Properties`).

use crate::errors::refused_value;
use crate::request::workload::WorkloadName;
use anyhow::{Context, Error, Result, anyhow};
use std::path::Path;

/// A property, and where it was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Property {
    pub name: String,
    pub value: String,
    pub place: String,
    /// Which one of `--set` it is, if it is one.
    pub set: Option<usize>,
}

impl Property {
    /// What is wrong with its value.
    pub(super) fn wrong(&self, why: &str) -> Error {
        let message = format!("{}: {}={}: {why}", self.place, self.name, self.value);
        match self.set {
            Some(number) => refused_value("set", number, message),
            None => anyhow!(message),
        }
    }
}

/// A file of properties is read no further than this.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Those of a core workload, but for the numbers of its records and operations.
pub(super) fn of_core(name: WorkloadName) -> Vec<Property> {
    let (letter, own): (&str, &[(&str, &str)]) = match name {
        WorkloadName::A => ("a", &[("readproportion", "0.5"), ("updateproportion", "0.5")]),
        WorkloadName::B => ("b", &[("readproportion", "0.95"), ("updateproportion", "0.05")]),
        WorkloadName::C => ("c", &[("readproportion", "1"), ("updateproportion", "0")]),
        WorkloadName::D => (
            "d",
            &[
                ("readproportion", "0.95"),
                ("updateproportion", "0"),
                ("insertproportion", "0.05"),
                ("requestdistribution", "latest"),
            ],
        ),
        WorkloadName::E => (
            "e",
            &[
                ("readproportion", "0"),
                ("updateproportion", "0"),
                ("scanproportion", "0.95"),
                ("insertproportion", "0.05"),
                ("maxscanlength", "100"),
            ],
        ),
        WorkloadName::F => (
            "f",
            &[("readproportion", "0.5"), ("updateproportion", "0"), ("readmodifywriteproportion", "0.5")],
        ),
    };
    let property = |(name, value): &(&str, &str)| Property {
        name: name.to_string(),
        value: value.to_string(),
        place: format!("--workload ycsb-{letter}"),
        set: None,
    };
    [("requestdistribution", "zipfian")].iter().chain(own).map(property).collect()
}

/// Those of a file, in its order.
pub(super) fn of_file(path: &Path) -> Result<Vec<Property>> {
    let shown = path.display();
    let file = crate::inputs::opened(path).with_context(|| format!("-P {shown}: can't be opened"))?;
    let bytes = unblink_engine::bounded::read_from(file, FILE_BYTES_MAX);
    let text = String::from_utf8(bytes.with_context(|| format!("-P {shown}: can't be read"))?);
    let text = text.with_context(|| format!("-P {shown}: it is not UTF-8 text"))?;
    Ok(read(&text, &shown.to_string()))
}

/// `NAME=VALUE` of the command line or of a plan, with its number among all of them.
pub(super) fn of_line(number: usize, text: &str) -> Result<Property> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
        let message = format!("--set {text:?}: write a property and its value, such as recordcount=1M");
        return Err(refused_value("set", number, message));
    };
    let (name, value) = (name.trim().to_string(), value.trim().to_string());
    Ok(Property { name, value, place: "--set".into(), set: Some(number) })
}

/// `name=value`, `name: value` or `name value` in lines; `#` and `!` begin comments, and a `\` at the end goes on.
fn read(text: &str, file: &str) -> Vec<Property> {
    let (mut found, mut lines) = (Vec::new(), text.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        let mut whole = line.trim_start().to_string();
        if whole.is_empty() || whole.starts_with(['#', '!']) {
            continue;
        }
        while whole.chars().rev().take_while(|&c| c == '\\').count() % 2 == 1 {
            whole.pop();
            match lines.next() {
                Some((_, next)) => whole.push_str(next.trim_start()),
                None => break,
            }
        }
        let (name, value) = parted(&whole);
        found.push(Property { name, value, place: format!("{file}, line {}", number + 1), set: None });
    }
    found
}

/// The name and the value of a line.
fn parted(line: &str) -> (String, String) {
    let (mut name, mut rest) = (String::new(), line.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => name.extend(rest.next().map(unescaped)),
            '=' | ':' => break,
            c if c.is_whitespace() => {
                let behind = rest.as_str().trim_start();
                rest = behind.strip_prefix(['=', ':']).unwrap_or(behind).chars();
                break;
            }
            c => name.push(c),
        }
    }
    let (mut value, mut rest) = (String::new(), rest.as_str().trim().chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => value.extend(rest.next().map(unescaped)),
            c => value.push(c),
        }
    }
    (name, value)
}

fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_java_reads_it() {
        let text = "# Yahoo!\n! no\n\nrecordcount=1000\n operationcount : 7\nworkload site.ycsb.workloads.\\\n  CoreWorkload\n\
                    a\\=b = c\\\\d \nempty=\n";
        let said: Vec<(String, String)> =
            read(text, "f").into_iter().map(|one| (one.name, one.value)).collect();
        let expected = [
            ("recordcount", "1000"),
            ("operationcount", "7"),
            ("workload", "site.ycsb.workloads.CoreWorkload"),
            ("a=b", "c\\d"),
            ("empty", ""),
        ];
        assert_eq!(said, expected.map(|(name, value)| (name.to_string(), value.to_string())));
        assert_eq!(read(text, "f")[1].place, "f, line 5");
    }

    #[test]
    fn a_flag_has_a_name_and_a_value() {
        assert_eq!(of_line(0, "recordcount = 1M").unwrap().value, "1M");
        for text in ["recordcount", "=5", ""] {
            assert!(of_line(0, text).is_err(), "{text}");
        }
    }
}
