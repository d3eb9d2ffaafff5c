//! A plan as it was written: checked field by field, with the place of each.

use super::body;
use super::fields::{self, CANDIDATE, Field, TARGET, TOP};
use super::lists::{self, ALONE, JOURNEYS, LISTS, LOADS, List, SETUP, STAGES};
use super::source::{Source, Wrong};
pub(crate) use super::texts::Text;
use super::texts::{table, text_of, values};
use super::tree::{self, Key, Node, Value};
use super::unknown::{not_a_section, unknown};
use super::yaml;
use crate::args::{arrivals, metric_rule};
use crate::errors::{Refused, each, several};
use anyhow::{Context, Result, anyhow};
use clap::Command;
use std::ops::Range;
use std::path::{Path, PathBuf};
use unblink_analysis::slo::{AbortRule, Slo};
use unblink_engine::bounded;
use unblink_workload::Lets;

/// Far above any plan that somebody wrote.
const BYTES_MAX: u64 = 1 << 20;

/// A plan.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub path: PathBuf,
    pub source: Source,
    /// Above all sections and in them, in the order of the text.
    pub given: Vec<Given>,
    /// What is asked.
    pub requests: Vec<Table>,
    /// What is offered at the same time.
    pub loads: Vec<Table>,
    /// The values that requests draw.
    pub lets: Vec<Let>,
    /// What is asked one after the other.
    pub journeys: Vec<Table>,
    /// What is asked beside the load.
    pub setup: Vec<Table>,
    /// What a sign-off runs, one after the other.
    pub stages: Vec<Table>,
    /// Where something stands that is not to be shown, in bytes of the text.
    pub hidden: Vec<Range<usize>>,
    /// Nothing will be sent: variables that the environment does not have are taken for granted.
    pub to_look_at: bool,
    /// It will be sent from elsewhere, where the environment has more variables than here.
    pub is_for_elsewhere: bool,
    /// Nothing is to be said of it yet.
    pub quietly: bool,
    /// As `to_look_at`, by a command that simulates it.
    pub is_simulated: bool,
}

/// A field that the plan has.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub field: &'static Field,
    pub values: Vec<Text>,
}

/// The section that names values.
pub(crate) const LET: &str = "let";

/// A value that the plan names.
#[derive(Clone, Debug)]
pub(crate) struct Let {
    pub name: Text,
    pub value: Text,
}

/// One of several tables with the same fields.
#[derive(Debug)]
pub(crate) struct Table {
    pub at: Range<usize>,
    pub given: Vec<Given>,
    /// Those of the list in it, if it has one.
    pub inner: Vec<Table>,
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
            "{name:?}: a plan must be TOML or YAML. JSON is valid YAML: rename the file to {:?}",
            Path::new(name).with_extension("yaml").display().to_string()
        ),
        false => anyhow!("{name:?} is not a plan: a plan's name ends in .toml, .yaml or .yml"),
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
    let (given, tables, lets) = reader.plan(root);
    if !reader.wrong.is_empty() {
        reader.wrong.sort_by_key(|wrong| wrong.at.start);
        return Err(several(reader.wrong.iter().map(|wrong| source.error_hiding(wrong, &hidden)).collect()));
    }
    let [loads, requests, journeys, setup, stages] = tables;
    Ok(PlanFile {
        path: path.to_path_buf(),
        source,
        given,
        requests,
        loads,
        journeys,
        setup,
        stages,
        lets,
        hidden,
        to_look_at: false,
        is_for_elsewhere: false,
        quietly: false,
        is_simulated: false,
    })
}

impl PlanFile {
    /// Does it have a field of this section?
    pub(crate) fn has_section(&self, section: &str) -> bool {
        self.given.iter().any(|given| given.field.section == section)
    }

    /// The tables of a list.
    pub(crate) fn tables(&self, list: &List) -> &[Table] {
        match list.name {
            LOADS => &self.loads,
            JOURNEYS => &self.journeys,
            SETUP => &self.setup,
            STAGES => &self.stages,
            _ => &self.requests,
        }
    }

    /// It says whom to ask for what.
    pub(crate) fn has_target(&self) -> bool {
        // Of paths alone nobody knows where they are.
        let is_url =
            |table: &Table| values_of(&table.given, "url").iter().any(|url| !url.raw.starts_with('/'));
        let steps = self.journeys.iter().flat_map(|journey| &journey.inner);
        let has_own = self.requests.iter().chain(steps).any(is_url);
        has_own || [TARGET, "targets"].iter().any(|field| self.value(field).is_some())
    }

    /// The values of a field.
    pub(crate) fn values(&self, name: &str) -> &[Text] {
        values_of(&self.given, name)
    }

    /// The value of a field that has one.
    pub(crate) fn value(&self, name: &str) -> Option<&Text> {
        self.values(name).first()
    }

    /// An error that points at a value of the plan.
    pub(crate) fn error(&self, text: &Text, message: impl Into<String>) -> anyhow::Error {
        self.source.error_hiding(&Wrong::new(text.at.clone(), message), &self.hidden)
    }

    /// The error, or each of several, at the one of these fields that it is about, or at that of the load that it is about;
    /// as it is where there is none, or where `is_other` says that it is about something else.
    pub(crate) fn pointed(
        &self,
        error: anyhow::Error,
        given: &[Given],
        is_other: impl Fn(&Refused) -> bool,
    ) -> anyhow::Error {
        let text_of = |refused: &Refused| {
            let given = match refused.load.and_then(|number| self.loads.get(number)) {
                Some(load) => &load.given,
                None => given,
            };
            let mut texts = refused.fields.iter().map(|field| values_of(given, field));
            let texts = texts.find(|texts| !texts.is_empty())?;
            texts.get(refused.number).or(texts.first())
        };
        let one = |error: anyhow::Error| {
            let refused = error.downcast_ref::<Refused>().filter(|refused| !is_other(refused));
            match refused.and_then(text_of) {
                Some(text) => self.error(text, crate::explain_error(&error)),
                None => error,
            }
        };
        several(each(error).into_iter().map(one).collect())
    }

    /// An error of the plan that has no place in it, such as that of a field that it lacks.
    pub(crate) fn error_of_all(&self, message: &str) -> anyhow::Error {
        self.source.error_of_all(message)
    }

    /// Tells whoever is about to start something; a plan that is only looked at is for several commands.
    pub(crate) fn say(&self, what: std::fmt::Arguments<'_>) {
        let is_heard = !self.to_look_at && !self.quietly;
        is_heard.then(|| crate::output::note(format_args!("note: {what}")));
    }

    /// A file that a plan names lies beside the plan.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }
}

/// The values of the field of this name; empty where it is not given.
pub(super) fn values_of<'a>(given: &'a [Given], name: &str) -> &'a [Text] {
    given.iter().find(|given| given.field.name == name).map_or(&[], |given| &given.values)
}

/// Reads the tree, and goes on behind what is wrong in it.
struct Reader<'a> {
    text: &'a str,
    wrong: Vec<Wrong>,
}

impl Reader<'_> {
    /// What there is, if nothing is wrong with it.
    fn kept<T>(&mut self, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|wrong| self.wrong.push(wrong)).ok()
    }

    /// The fields in sections, the tables of each list, and the named values.
    fn plan(&mut self, root: Node) -> (Vec<Given>, [Vec<Table>; LISTS.len()], Vec<Let>) {
        let (mut given, mut tables) = (Vec::new(), LISTS.each_ref().map(|_| Vec::new()));
        let mut lets = Vec::new();
        for (key, node) in self.kept(table(root, "a plan is a table of fields")).unwrap_or_default() {
            match key.name.as_str() {
                LET => lets = self.lets(node),
                name if List::called(name).is_some() => {
                    let place = LISTS.iter().position(|list| list.name == name).unwrap_or_default();
                    tables[place] = self.list(&LISTS[place], node);
                }
                name if fields::sections().contains(&name) => {
                    let why = not_a_section(name, &node);
                    let entries = self.kept(table(node, &why));
                    given.extend(self.fields(name, &format!("[{name}]"), entries.unwrap_or_default()));
                }
                name if fields::of(TOP).any(|field| field.name == name) => {
                    given.extend(self.fields(TOP, "a plan", vec![(key, node)]));
                }
                _ => {
                    let lists = LISTS.iter().map(|list| list.name);
                    let all = fields::sections().into_iter().chain([TARGET, CANDIDATE, LET]).chain(lists);
                    self.wrong.push(unknown("a plan", &key, all));
                }
            }
        }
        (given, tables, lets)
    }

    /// The values that a plan names, each with what it is drawn from.
    fn lets(&mut self, node: Node) -> Vec<Let> {
        let entries = self.kept(table(node, "let is a table of names, each with what is drawn for it"));
        let entries = entries.unwrap_or_default().into_iter();
        let read = entries.filter_map(|(key, node)| {
            let name = Text { raw: key.name, at: key.at };
            let known = Lets::check_name(&name.raw).map_err(|why| Wrong::new(name.at.clone(), why));
            self.kept(known)?;
            let value = match &node.value {
                Value::List(_) => body::json(&node).map(|raw| Text { raw, at: node.at.clone() }),
                _ => text_of(node),
            };
            Some(Let { name, value: self.kept(value)? })
        });
        read.collect()
    }

    /// The fields of a section, which is called `whole` where one is unknown.
    fn fields(&mut self, section: &str, whole: &str, entries: Vec<(Key, Node)>) -> Vec<Given> {
        let mut given = Vec::new();
        for (key, node) in entries {
            let Some(field) = fields::of(section).find(|field| field.key() == key.name) else {
                let own = fields::of(section).map(Field::key);
                let mut wrong = unknown(whole, &key, own);
                if section == LOADS && ALONE.contains(&key.name.as_str()) {
                    let help =
                        format!("a load of this kind stands alone: [load] in a plan without [[{LOADS}]]");
                    wrong.help = Some(help);
                }
                self.wrong.push(wrong);
                continue;
            };
            let at = node.at.clone();
            let values = self.kept(values(field, node)).unwrap_or_default();
            let is_empty = values.is_empty() && self.wrong.iter().all(|wrong| wrong.at != at);
            if let Some(why) = lists::why_not_empty(&field.name).filter(|_| is_empty) {
                self.wrong.push(Wrong::new(at, why.to_string()));
            }
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
        let objective = match field.name.as_str() {
            "slo" => Slo::parse(&value.raw).err(),
            "abort-on" if !metric_rule::is_of_metric(&value.raw) => AbortRule::parse(&value.raw).err(),
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
            let words: &[&str] = if field.name == "arrivals" { &arrivals::NAMES } else { &[] };
            let possible = field.possible.iter().map(String::as_str).chain(words.iter().copied());
            Wrong::new(value.at.clone(), message).or_rather(&value.raw, possible)
        })
    }

    fn list(&mut self, list: &List, node: Node) -> Vec<Table> {
        let List { name, one, needs: (needed, _), .. } = list;
        let Value::List(items) = node.value else {
            let message = format!("{name} is a list of tables, each with its {needed}");
            self.wrong.push(Wrong::new(node.at, message));
            return Vec::new();
        };
        if let Some(max) = list.tables_max
            && let Some(beyond) = items.get(max)
        {
            let message = format!("this is {one} {} of {}: a plan has at most {max}", max + 1, items.len());
            self.wrong.push(Wrong::new(beyond.at.clone(), message));
        }
        items.into_iter().filter_map(|item| self.table(list, item)).collect()
    }

    fn table(&mut self, list: &List, node: Node) -> Option<Table> {
        let List { name, one, needs: (needed, how), instead, .. } = list;
        let at = node.at.clone();
        let mut entries = self.kept(table(node, &format!("a {one} is a table with its {needed}")))?;
        let is_there = |name: &str| name == *needed || instead.contains(&name);
        if !entries.iter().any(|(key, _)| is_there(&key.name)) {
            let message = format!("this {one} has no {needed}: {how}");
            self.wrong.push(Wrong::new(at.clone(), message));
        }
        let mut inner = Vec::new();
        if let Some(list) = list.inner
            && let Some(place) = entries.iter().position(|(key, _)| key.name == list.name)
        {
            inner = self.list(list, entries.remove(place).1);
        }
        let given = self.fields(name, &format!("a {one}"), entries);
        self.wrong.extend(conflict(&list.command(), &given));
        Some(Table { at, given, inner })
    }
}

/// What is wrong with fields of which `command` takes only one. What clap knows of flags holds for them, too.
pub(super) fn conflict(command: &Command, given: &[Given]) -> Option<Wrong> {
    given.iter().enumerate().find_map(|(i, Given { field, values })| {
        let excludes = |one: &&Given| fields::exclude(command, one.field.arg(command), field.arg(command));
        let one = given[..i].iter().find(excludes)?.field.key();
        let message = format!("{one} and {} exclude each other: leave one of them out", field.key());
        Some(Wrong::new(values.first()?.at.clone(), message))
    })
}
