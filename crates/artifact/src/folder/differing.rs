//! What headers that are not of one run differ in, in words.

use crate::document::AgentPlan;
use crate::header::RunHeader;
use serde_json::Value;
use std::collections::BTreeSet;

/// More fields than these are not told one by one: a load that is another one changes many.
const FIELDS_TOLD_MAX: usize = 6;
/// A value that is longer is cut.
const VALUE_CHARS_MAX: usize = 60;

/// The fields in which two headers differ that must not, each with both values. `None` where there are none.
pub(super) fn differing(one: &RunHeader, other: &RunHeader) -> Option<String> {
    let [one, other] = [one, other].map(comparable);
    let mut fields = Vec::new();
    compare(String::new(), Some(&one), Some(&other), &mut fields);
    let beyond = fields.len().saturating_sub(FIELDS_TOLD_MAX);
    fields.truncate(FIELDS_TOLD_MAX);
    if beyond > 0 {
        fields.push(format!("{beyond} more"));
    }
    listed(&fields)
}

/// Adds the fields at and beneath `path` that are not the same.
fn compare(path: String, one: Option<&Value>, other: Option<&Value>, fields: &mut Vec<String>) {
    match (one, other) {
        (one, other) if one == other => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let dot = if path.is_empty() { "" } else { "." };
                compare(format!("{path}{dot}{name}"), a.get(name), b.get(name), fields);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                compare(format!("{path}[{place}]"), Some(a), Some(b), fields);
            }
        }
        _ => fields.push(format!("`{path}` ({} and {})", shown(one), shown(other))),
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".into() };
    let text = value.to_string();
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `a, b and c`; `None` of nothing.
fn listed(all: &[impl AsRef<str>]) -> Option<String> {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    let (last, before) = all.split_last()?;
    Some(match before {
        [] => (*last).to_string(),
        _ => format!("{} and {last}", before.join(", ")),
    })
}

/// A header without what each machine has for itself.
fn comparable(header: &RunHeader) -> Value {
    let mut header = header.clone();
    header.command.clear();
    header.environment = Default::default();
    header.plan.threads = 0;
    for origin in &mut header.origins {
        (origin.connections.limit, origin.connections.limited_by) = (0, None);
    }
    let of = header.agents.first().map(|agent| (agent.of, agent.start_at.clone(), agent.due_of_all));
    header.agents.clear();
    let mut value = serde_json::to_value(&header).unwrap_or_default();
    if let Some((of, start_at, due_of_all)) = of {
        value["agents"] = serde_json::json!({ "of": of, "start_at": start_at, "due_of_all": due_of_all });
    }
    value
}

/// The flags in which their command lines differ, in words, if there are any.
pub(super) fn in_command_lines(one: &[AgentPlan], other: &[AgentPlan]) -> Option<String> {
    let [one, other] = [one, other].map(|agents| agents.first().map(|agent| said(&agent.command)));
    let (one, other) = (one?, other?);
    let of = |all: &[(String, String)], flag: &str| -> Vec<String> {
        all.iter().filter(|(name, _)| name == flag).map(|(_, value)| value.clone()).collect()
    };
    let mut differing: Vec<&str> = Vec::new();
    for (flag, _) in one.iter().chain(&other) {
        let name = if flag.is_empty() { "the words without a flag" } else { flag };
        if !differing.contains(&name) && of(&one, flag) != of(&other, flag) {
            differing.push(name);
        }
    }
    Some(format!(" (their command lines differ in {})", listed(&differing)?))
}

/// The flags of a command line with their values, as far as that can be told without knowing them, but for those in which machines
/// may differ.
fn said(command: &[String]) -> Vec<(String, String)> {
    const OF_A_MACHINE: [&str; 5] = ["--share", "--start-at", "-o", "--output", "--json"];
    let mut words = command.iter().skip(1).peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, value.to_string()),
            _ if word.starts_with('-') => {
                (word.as_str(), words.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_default())
            }
            _ => ("", word.clone()),
        };
        if !OF_A_MACHINE.contains(&flag) {
            all.push((flag.to_string(), value));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agents(line: &str) -> Vec<AgentPlan> {
        let command = line.split(' ').map(String::from).collect();
        let agent = json!({
            "first": 1, "last": 1, "of": 2, "start_at": "2026-01-31T12:00:00Z", "due_of_all": 1,
            "command": [], "environment": crate::document::Environment::default(),
        });
        let agent: AgentPlan = serde_json::from_value(agent).expect("an agent");
        vec![AgentPlan { command, ..agent }]
    }

    #[test]
    fn all_flags_that_differ_are_named() {
        let differ = |one: &str, other: &str| in_command_lines(&agents(one), &agents(other));
        let named = |flags: &str| Some(format!(" (their command lines differ in {flags})"));
        let base = "unblink run plan.toml -R 5 -d 3s --seed 7 --share 1/2 -o one";
        assert_eq!(differ(base, "unblink run plan.toml -R 5 -d 3s --seed 7 --share 2/2 -o two"), None);
        assert_eq!(differ(base, "unblink run plan.toml -R 6 -d 3s --seed 7"), named("-R"));
        assert_eq!(differ(base, "unblink run plan.toml -R 6 -d 3s --seed 8"), named("-R and --seed"));
        let all = named("the words without a flag, -R, -d, --seed and --body");
        assert_eq!(differ(base, "unblink run other.toml -R 6 -d 4s --body x"), all);
    }

    #[test]
    fn all_fields_that_differ_are_named_with_their_values() {
        let values = |one: Value, other: Value| {
            let mut fields = Vec::new();
            compare(String::new(), Some(&one), Some(&other), &mut fields);
            fields
        };
        let one =
            json!({"of": 2, "loads": [{"rate": 5.0, "name": "a"}], "drain": 1, "same": [1], "list": [1, 2]});
        let other = json!({"of": 3, "loads": [{"rate": 6.0, "name": "a"}], "same": [1], "list": [1], "body": "b\u{1b}"});
        let expected = [
            "`body` (nothing and \"b\\u001b\")",
            "`drain` (1 and nothing)",
            "`list` ([1,2] and [1])",
            "`loads[0].rate` (5.0 and 6.0)",
            "`of` (2 and 3)",
        ];
        assert_eq!(values(one.clone(), other), expected);
        assert_eq!(values(one.clone(), one), [""; 0]);
        let long = values(json!({"a": "é".repeat(99)}), json!({"a": 1})).remove(0);
        assert_eq!(long, format!("`a` (\"{}… and 1)", "é".repeat(VALUE_CHARS_MAX - 1)));
    }

    #[test]
    fn a_list_reads_as_people_say_it() {
        let said = ["", "a", "a and b", "a, b and c"];
        for (n, said) in said.into_iter().enumerate() {
            assert_eq!(listed(&["a", "b", "c"][..n]).unwrap_or_default(), said);
        }
    }
}
