//! A plan as it was written: checked field by field, with the place of each.

use super::fields::{self, Field, Kind};
use super::source::{Source, Wrong};
use super::tree::{self, Key, Node, Value};
use super::{write, yaml};
use anyhow::{Context, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unblink_analysis::slo::{AbortRule, Slo};

/// The table of requests.
pub(crate) const REQUESTS: &str = "requests";
/// The address of what is tested.
pub(crate) const TARGET: &str = "target";
/// The address that `unblink compare` holds against the target.
pub(crate) const CANDIDATE: &str = "candidate";
/// What a request may have.
pub(crate) const OF_REQUEST: [&str; 6] = ["name", "url", "method", "header", "body", "body-file"];
/// Files that are read; their names count from the plan's folder.
pub(crate) const FILES: [&str; 5] = ["targets", "body-file", "cacert", "cert", "key"];
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

/// Reads and checks a plan.
pub(crate) fn read(path: &Path) -> Result<PlanFile> {
    let missing = || format!("can't read the plan {path:?} (`unblink init` writes one)");
    let size = std::fs::metadata(path).with_context(missing)?.len();
    anyhow::ensure!(size <= BYTES_MAX, "the plan {path:?} has {size} bytes: a plan has at most {BYTES_MAX}");
    let text = std::fs::read_to_string(path).with_context(missing)?;
    parse(path, text)
}

/// The plan that `text` is, in the format that the name of the file says.
pub(crate) fn parse(path: &Path, text: String) -> Result<PlanFile> {
    let source = Source { name: path.display().to_string(), text };
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let root = if is_toml { tree::of_toml(&source.text) } else { yaml::of_yaml(&source.text) };
    let read = root.and_then(|root| Reader { text: &source.text }.plan(root));
    match read {
        Ok(Parts { target, candidate, requests, given }) => {
            let path = path.to_path_buf();
            Ok(PlanFile { path, source, target, candidate, requests, given, to_look_at: false })
        }
        Err(wrong) => Err(source.error(&wrong)),
    }
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
        self.source.error_hiding(wrong, &self.secrets())
    }

    /// Where something stands that is not to be shown.
    fn secrets(&self) -> Vec<Range<usize>> {
        let given = self.given.iter().flat_map(|given| {
            given.values.iter().map(|text| (given.field.name.as_str(), text)).collect::<Vec<_>>()
        });
        let urls = [&self.target, &self.candidate].into_iter().flatten().map(|text| (TARGET, text));
        let of_requests = self.requests.iter().flat_map(|request| {
            let headers = request.headers.iter().map(|text| ("header", text));
            let body = request.body.iter().map(|text| ("body", text));
            headers.chain(body).chain(std::iter::once(("url", &request.url)))
        });
        let all = given.chain(urls).chain(of_requests);
        all.filter(|(name, text)| write::shown(name, text) != text.raw)
            .map(|(_, text)| text.at.clone())
            .collect()
    }
}

struct Reader<'a> {
    text: &'a str,
}

#[derive(Default)]
struct Parts {
    target: Option<Text>,
    candidate: Option<Text>,
    requests: Vec<Request>,
    given: Vec<Given>,
}

impl Reader<'_> {
    fn plan(&self, root: Node) -> Result<Parts, Wrong> {
        let mut parts = Parts::default();
        for (key, node) in table(root, "a plan is a table of fields")? {
            let sections = fields::sections();
            match key.name.as_str() {
                TARGET => parts.target = Some(self.text_of(node)?),
                CANDIDATE => parts.candidate = Some(self.text_of(node)?),
                REQUESTS => parts.requests = self.requests(node)?,
                name if sections.contains(&name) => parts.given.extend(self.section(name, node)?),
                name => {
                    let belongs = fields::named(name).map(|field| &field.section);
                    let all = sections.iter().copied().chain([TARGET, CANDIDATE, REQUESTS]);
                    return Err(match belongs {
                        Some(section) => Wrong {
                            help: Some(format!("it belongs into [{section}]")),
                            ..Wrong::new(key.at, format!("{name:?} stands outside of its section"))
                        },
                        None => {
                            let list = all.clone().collect::<Vec<_>>().join(", ");
                            let message = format!("a plan has no {name:?}; there are {list}");
                            Wrong::new(key.at, message).or_rather(name, all)
                        }
                    });
                }
            }
        }
        Ok(parts)
    }

    fn section(&self, section: &str, node: Node) -> Result<Vec<Given>, Wrong> {
        let own = || fields::all().iter().filter(|field| field.section == section);
        let mut given = Vec::new();
        for (key, node) in table(node, "a section is a table of fields")? {
            let Some(field) = own().find(|field| field.name == key.name) else {
                return Err(unknown_field(section, &key));
            };
            let values = self.values(field, node)?;
            for value in &values {
                self.check(field, value)?;
            }
            if !values.is_empty() {
                given.push(Given { field, values });
            }
        }
        Ok(given)
    }

    fn values(&self, field: &Field, node: Node) -> Result<Vec<Text>, Wrong> {
        match (field.kind, node.value) {
            // YAML knows three spellings (version 1.2, section 10.3.2).
            (Kind::Switch, Value::Scalar(text)) => match text.as_str() {
                "true" | "True" | "TRUE" => Ok(vec![Text { raw: "true".into(), at: node.at }]),
                "false" | "False" | "FALSE" => Ok(Vec::new()),
                _ => Err(Wrong::new(node.at, format!("{} is true or false", field.name))),
            },
            (Kind::Many, Value::List(items)) => items.into_iter().map(|item| self.text_of(item)).collect(),
            (_, Value::List(_)) => Err(Wrong::new(node.at, format!("{} is one value, no list", field.name))),
            (_, value) => Ok(vec![self.text_of(Node { at: node.at, value })?]),
        }
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

    fn requests(&self, node: Node) -> Result<Vec<Request>, Wrong> {
        let Value::List(items) = node.value else {
            return Err(Wrong::new(node.at, "requests is a list of tables, each with its url"));
        };
        items.into_iter().map(|item| self.request(item)).collect()
    }

    fn request(&self, node: Node) -> Result<Request, Wrong> {
        let at = node.at.clone();
        let (mut one, mut url, mut headers) = (Vec::new(), None, Vec::new());
        for (key, node) in table(node, "a request is a table with its url")? {
            match key.name.as_str() {
                "url" => url = Some(self.text_of(node)?),
                "header" => {
                    headers = match node.value {
                        Value::List(items) => {
                            items.into_iter().map(|item| self.text_of(item)).collect::<Result<_, _>>()?
                        }
                        value => vec![self.text_of(Node { at: node.at, value })?],
                    }
                }
                name if OF_REQUEST.contains(&name) => one.push((key, self.text_of(node)?)),
                name => {
                    let message = format!("a request has no {name:?}; there are {}", OF_REQUEST.join(", "));
                    return Err(Wrong::new(key.at, message).or_rather(name, OF_REQUEST));
                }
            }
        }
        let mut take = |name: &str| {
            let place = one.iter().position(|(key, _)| key.name == name)?;
            Some(one.swap_remove(place).1)
        };
        let request = Request {
            name: take("name"),
            method: take("method"),
            body: take("body"),
            body_file: take("body-file"),
            url: url.ok_or_else(|| {
                Wrong::new(at.clone(), "this request has no url: give a path, such as \"/cart\"")
            })?,
            headers,
            at,
        };
        match (&request.body, &request.body_file) {
            (Some(_), Some(file)) => Err(Wrong::new(file.at.clone(), "this request has a body already")),
            _ => Ok(request),
        }
    }

    fn text_of(&self, node: Node) -> Result<Text, Wrong> {
        match node.value {
            Value::Scalar(raw) if !raw.is_empty() && raw != "~" => Ok(Text { raw, at: node.at }),
            Value::Scalar(_) => {
                Err(Wrong::new(node.at, "there is no value: give one, or leave the field out"))
            }
            Value::List(_) => Err(Wrong::new(node.at, "one value is expected here, no list")),
            Value::Table(_) => Err(Wrong::new(node.at, "one value is expected here, no table")),
        }
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
