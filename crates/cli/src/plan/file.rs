//! A plan as it was written: checked field by field, with the place of each.

use super::fields::{self, CANDIDATE, Field, Kind, OF_REQUEST, REQUESTS, TARGET};
use super::source::{Source, Wrong};
use super::tree::{self, Key, Node, Value};
use super::yaml;
use crate::errors::several;
use anyhow::{Context, Result, anyhow};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unblink_analysis::slo::{AbortRule, Slo};
use unblink_engine::bounded;

/// Far above any plan that somebody wrote.
const BYTES_MAX: u64 = 1 << 20;

/// A plan.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub path: PathBuf,
    pub source: Source,
    pub target: Option<Text>,
    pub candidate: Option<Text>,
    pub requests: Vec<Request>,
    /// In the order of the text.
    pub given: Vec<Given>,
    /// Where something stands that is not to be shown, in bytes of the text.
    pub hidden: Vec<Range<usize>>,
    /// Nothing will be sent: variables that the environment does not have are taken for granted.
    pub to_look_at: bool,
}

/// A value as it was written, and where.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub raw: String,
    pub at: Range<usize>,
}

/// A field that the plan has.
#[derive(Debug)]
pub(crate) struct Given {
    pub field: &'static Field,
    pub values: Vec<Text>,
}

/// One of several requests that are sent in turn.
#[derive(Debug)]
pub(crate) struct Request {
    pub at: Range<usize>,
    pub name: Option<Text>,
    /// Absolute, or a path at the target.
    pub url: Text,
    pub method: Option<Text>,
    pub headers: Vec<Text>,
    pub body: Option<Text>,
    pub body_file: Option<Text>,
}

/// Is this the name of a plan's file?
pub(crate) fn is_plan(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    !name.contains("://") && matches!(extension, Some("toml" | "yaml" | "yml"))
}

/// Is this the name of a plan as JSON?
pub(crate) fn is_json(name: &str) -> bool {
    !name.contains("://") && Path::new(name).extension().is_some_and(|extension| extension == "json")
}

/// Why a file of this name is none, and what to do.
pub(crate) fn no_plan(name: &str) -> anyhow::Error {
    match is_json(name) {
        true => anyhow!(
            "{name:?} is no plan by its name: plans are TOML or YAML. JSON is YAML, too: name the file {:?}",
            Path::new(name).with_extension("yaml").display().to_string()
        ),
        false => anyhow!("{name:?} is no plan: expected a file that ends in .toml, .yaml or .yml"),
    }
}

/// Reads and checks a plan.
pub(crate) fn read(path: &Path) -> Result<PlanFile> {
    let missing = || format!("can't read the plan {path:?} (`unblink init` writes one)");
    let bytes = bounded::read(path, BYTES_MAX).with_context(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        anyhow!("{}:{line}: this line is not UTF-8, as a plan must be", path.display())
    })?;
    parse(path, text)
}

/// The plan that `text` is, in the format that the name of the file says.
pub(crate) fn parse(path: &Path, text: String) -> Result<PlanFile> {
    let source = Source { name: path.display().to_string(), text };
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let root = if is_toml {
        tree::of_toml(&source.text)
    } else {
        yaml::of_yaml(&source.text).map_err(|one| vec![one])
    };
    let root =
        root.map_err(|wrong| several(wrong.iter().map(|wrong| source.error_in_no_plan(wrong)).collect()))?;
    let mut hidden = Vec::new();
    root.secrets("", &mut hidden);
    let mut reader = Reader { text: &source.text, wrong: Vec::new() };
    let Parts { target, candidate, requests, given } = reader.plan(root);
    if !reader.wrong.is_empty() {
        reader.wrong.sort_by_key(|wrong| wrong.at.start);
        return Err(several(reader.wrong.iter().map(|wrong| source.error_hiding(wrong, &hidden)).collect()));
    }
    let path = path.to_path_buf();
    Ok(PlanFile { path, source, target, candidate, requests, given, hidden, to_look_at: false })
}

impl PlanFile {
    /// Does it have a field of this section?
    pub(crate) fn has_section(&self, section: &str) -> bool {
        self.given.iter().any(|given| given.field.section == section)
    }

    /// It says whom to ask for what.
    pub(crate) fn has_target(&self) -> bool {
        self.target.is_some() || !self.requests.is_empty() || !self.values("targets").is_empty()
    }

    /// The values of a field; empty when the plan does not have it.
    pub(crate) fn values(&self, name: &str) -> &[Text] {
        self.given.iter().find(|given| given.field.name == name).map_or(&[], |given| &given.values)
    }

    /// An error that points into the plan.
    pub(crate) fn error(&self, wrong: &Wrong) -> anyhow::Error {
        self.source.error_hiding(wrong, &self.hidden)
    }

    /// An error of the plan that has no place in it, such as that of a field that it lacks.
    pub(crate) fn error_of_all(&self, message: &str) -> anyhow::Error {
        self.source.error_of_all(message)
    }

    /// Tells whoever is about to start something; a plan that is only looked at is for several commands.
    pub(crate) fn say(&self, what: std::fmt::Arguments<'_>) {
        if !self.to_look_at {
            crate::output::note(format_args!("note: {what}"));
        }
    }

    /// A file that a plan names lies beside the plan.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }
}

/// Reads the tree, and goes on behind what is wrong in it.
struct Reader<'a> {
    text: &'a str,
    wrong: Vec<Wrong>,
}

#[derive(Default)]
struct Parts {
    target: Option<Text>,
    candidate: Option<Text>,
    requests: Vec<Request>,
    given: Vec<Given>,
}

impl Reader<'_> {
    /// What there is, if nothing is wrong with it.
    fn kept<T>(&mut self, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|wrong| self.wrong.push(wrong)).ok()
    }

    fn plan(&mut self, root: Node) -> Parts {
        let mut parts = Parts::default();
        for (key, node) in self.kept(table(root, "a plan is a table of fields")).unwrap_or_default() {
            match key.name.as_str() {
                TARGET => parts.target = self.kept(text_of(node)),
                CANDIDATE => parts.candidate = self.kept(text_of(node)),
                REQUESTS => parts.requests = self.requests(node),
                name if fields::sections().contains(&name) => parts.given.extend(self.section(name, node)),
                _ => self.wrong.push(unknown_section(&key)),
            }
        }
        parts
    }

    fn section(&mut self, section: &str, node: Node) -> Vec<Given> {
        let own = || fields::all().iter().filter(|field| field.section == section);
        let mut given = Vec::new();
        for (key, node) in self.kept(table(node, "a section is a table of fields")).unwrap_or_default() {
            let Some(field) = own().find(|field| field.name == key.name) else {
                self.wrong.push(unknown_field(section, &key));
                continue;
            };
            let Some(values) = self.kept(values(field, node)) else { continue };
            for value in &values {
                let checked = self.check(field, value);
                self.kept(checked);
            }
            if !values.is_empty() {
                given.push(Given { field, values });
            }
        }
        given
    }

    /// The value in the eyes of its flag.
    fn check(&self, field: &Field, value: &Text) -> Result<(), Wrong> {
        if field.kind == Kind::Switch {
            return Ok(());
        }
        let objective = match field.name.as_str() {
            "slo" => Slo::parse(&value.raw).err(),
            "abort-on" => AbortRule::parse(&value.raw).err(),
            _ => None,
        };
        if let Some(error) = objective {
            // Behind the quote, if there is one.
            let start = self.text[value.at.clone()].find(&value.raw).map(|inside| value.at.start + inside);
            let at = match start {
                Some(start) => start + error.at.start..start + error.at.end,
                None => value.at.clone(),
            };
            return Err(Wrong::new(at, error.message));
        }
        field.check(&value.raw).map_err(|message| {
            let possible = field.possible.iter().map(String::as_str);
            Wrong::new(value.at.clone(), message).or_rather(&value.raw, possible)
        })
    }

    fn requests(&mut self, node: Node) -> Vec<Request> {
        match node.value {
            Value::List(items) => items.into_iter().filter_map(|item| self.request(item)).collect(),
            _ => {
                self.wrong.push(Wrong::new(node.at, "requests is a list of tables, each with its url"));
                Vec::new()
            }
        }
    }

    fn request(&mut self, node: Node) -> Option<Request> {
        let at = node.at.clone();
        let entries = self.kept(table(node, "a request is a table with its url"))?;
        let has_url = entries.iter().any(|(key, _)| key.name == "url");
        let (mut one, mut headers) = (Vec::new(), Vec::new());
        for (key, node) in entries {
            match (key.name.as_str(), node.value) {
                ("header", Value::List(items)) => {
                    headers.extend(items.into_iter().filter_map(|item| self.kept(text_of(item))));
                }
                ("header", value) => headers.extend(self.kept(text_of(Node { at: node.at, value }))),
                (name, value) if OF_REQUEST.contains(&name) => {
                    one.extend(self.kept(text_of(Node { at: node.at, value })).map(|text| (key, text)));
                }
                (name, _) => {
                    let message = format!("a request has no {name:?}; there are {}", OF_REQUEST.join(", "));
                    self.wrong.push(Wrong::new(key.at, message).or_rather(name, OF_REQUEST));
                }
            }
        }
        let mut take = |name: &str| {
            let place = one.iter().position(|(key, _)| key.name == name)?;
            Some(one.swap_remove(place).1)
        };
        let (url, body, body_file) = (take("url"), take("body"), take("body-file"));
        if !has_url {
            let message = "this request has no url: give a path, such as \"/cart\"";
            self.wrong.push(Wrong::new(at.clone(), message));
        }
        if let (Some(_), Some(file)) = (&body, &body_file) {
            self.wrong.push(Wrong::new(file.at.clone(), "this request has a body already"));
        }
        Some(Request { name: take("name"), method: take("method"), body, body_file, url: url?, headers, at })
    }
}

fn values(field: &Field, node: Node) -> Result<Vec<Text>, Wrong> {
    match (field.kind, node.value) {
        // YAML knows three spellings (version 1.2, section 10.3.2).
        (Kind::Switch, Value::Scalar(text)) => match text.as_str() {
            "true" | "True" | "TRUE" => Ok(vec![Text { raw: "true".into(), at: node.at }]),
            "false" | "False" | "FALSE" => Ok(Vec::new()),
            _ => Err(Wrong::new(node.at, format!("{} is true or false", field.name))),
        },
        (Kind::Many, Value::List(items)) => items.into_iter().map(text_of).collect(),
        (_, Value::List(_)) => Err(Wrong::new(node.at, format!("{} is one value, no list", field.name))),
        (_, value) => Ok(vec![text_of(Node { at: node.at, value })?]),
    }
}

fn text_of(node: Node) -> Result<Text, Wrong> {
    match node.value {
        Value::Scalar(raw) if !raw.is_empty() && raw != "~" => Ok(Text { raw, at: node.at }),
        Value::Scalar(_) => Err(Wrong::new(node.at, "there is no value: give one, or leave the field out")),
        Value::List(_) => Err(Wrong::new(node.at, "one value is expected here, no list")),
        Value::Table(_) => Err(Wrong::new(node.at, "one value is expected here, no table")),
    }
}

fn table(node: Node, otherwise: &str) -> Result<Vec<(Key, Node)>, Wrong> {
    match node.value {
        Value::Table(entries) => Ok(entries),
        // An empty section.
        Value::Scalar(text) if text.is_empty() || text == "~" => Ok(Vec::new()),
        _ => Err(Wrong::new(node.at, otherwise)),
    }
}

fn unknown_section(key: &Key) -> Wrong {
    let name = key.name.as_str();
    if let Some(field) = fields::named(name) {
        return Wrong {
            help: Some(format!("it belongs into [{}]", field.section)),
            ..Wrong::new(key.at.clone(), format!("{name:?} stands outside of its section"))
        };
    }
    let all = || fields::sections().into_iter().chain([TARGET, CANDIDATE, REQUESTS]);
    let message = format!("a plan has no {name:?}; there are {}", all().collect::<Vec<_>>().join(", "));
    Wrong::new(key.at.clone(), message).or_rather(name, all())
}

fn unknown_field(section: &str, key: &Key) -> Wrong {
    let name = key.name.as_str();
    let own =
        || fields::all().iter().filter(|field| field.section == section).map(|field| field.name.as_str());
    match fields::named(name) {
        Some(other) => Wrong {
            help: Some(format!("it belongs into [{}]", other.section)),
            ..Wrong::new(key.at.clone(), format!("[{section}] has no {name:?}"))
        },
        None => {
            let list = own().collect::<Vec<_>>().join(", ");
            Wrong::new(key.at.clone(), format!("[{section}] has no {name:?}; there are {list}"))
                .or_rather(name, own())
        }
    }
}
