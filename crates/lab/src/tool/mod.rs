//! Load tools as data: how each is called, found, installed and read. One TOML file per tool and mode.

mod arrivals;
mod built_in;
mod error;
mod find;
mod install;
mod maven;
mod step;
mod template;

pub use arrivals::Arrivals;
pub use error::DefinitionError;
pub use find::{Found, Places};
pub use install::steps;
pub use step::Step;
pub use template::{TemplateError, Values};

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use unblink_artifact::document::{self, LoadModel};
use unblink_artifact::fingerprint::fingerprint;

use self::built_in::BUILT_IN;
use crate::case::Case;
use crate::read::Output;
use crate::{Database, EventStream, Protocol, Scenario};

/// A tool in one mode, as its file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Tool and mode, such as `k6-constant-vus`: letters, digits, `-` and `.`.
    pub name: String,
    /// The program, looked for in the folder of installed tools and on the PATH.
    pub program: String,
    /// What this mode does, in a line.
    pub about: String,
    /// The model of load that it claims.
    pub model: LoadModel,
    /// What it speaks, and so what its server does.
    #[serde(default)]
    pub protocol: Protocol,
    /// Its server is a database that others wrote, and `protocol` says nothing.
    pub database: Option<Database>,
    /// How its arrivals come, if it is open.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Its server speaks TLS, with a certificate that nobody knows.
    #[serde(default)]
    pub tls: bool,
    /// Answers of its server come as so many events, 10 ms apart. What it reports is then the time to the first event.
    pub events: Option<u32>,
    /// The words of the command, with `{placeholders}`.
    pub command: Vec<String>,
    /// A second command, run after the first, that makes its output readable.
    pub convert: Option<Vec<String>>,
    /// Files that are written into the cell's folder before, by name; with placeholders.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Variables of its environment, such as one that keeps it from reporting home.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Exit codes besides 0 that leave figures that count: a tool may call failed requests a failure of its own.
    #[serde(default)]
    pub exit_codes: Vec<i32>,
    /// How many seconds after the end of the load it may take to end, for one that counts its requests: the slower the
    /// answers, the longer it asks.
    pub overtime_s: Option<u64>,
    /// Its first seconds are in none of its figures, because it calibrates in them. What happens then it does not report.
    pub leaves_out_s: Option<u64>,
    /// How to ask for the version.
    pub version: Version,
    /// How to read the output.
    pub output: Output,
    /// How to install it; `None`: it is not in any registry.
    pub install: Option<Install>,
    /// What to do where it can't be installed.
    pub hint: Option<String>,
    /// Of its text: two definitions with one fingerprint are one.
    #[serde(skip)]
    pub fingerprint: Option<String>,
}

/// A tool may take this much longer than its load, beside the timeout of its last requests: k6 starts thousands of
/// virtual users, and Java starts at all.
const OVERTIME: Duration = Duration::from_secs(45);
/// A tool that takes longer than a day hangs.
const OVERTIME_S_MAX: u64 = 86_400;

impl Definition {
    /// How long a load of the case may take from the start of the program to its end.
    pub fn patience(&self, case: &Case) -> Duration {
        let usual = Duration::from_nanos(case.timeout_ns()) + OVERTIME;
        case.duration + self.overtime_s.map_or(usual, Duration::from_secs)
    }

    /// Whether the scenario can be served in what the tool speaks. Where requests wait for a slot, how long an answer's later
    /// events take decides about the first events of others, and the exact truth does not know these.
    pub fn can_meet(&self, scenario: &Scenario) -> bool {
        self.database == scenario.database
            && self.protocol.lacks(scenario).is_none()
            && (self.events.is_none() || scenario.max_concurrency.is_none())
    }

    /// What {url} stands for at a server's address.
    pub fn url(&self, address: &str) -> String {
        match self.database {
            Some(database) => database.url(address),
            None => self.protocol.url(address, self.tls),
        }
    }

    /// As documents call what it speaks.
    pub(crate) fn speaks(&self) -> document::Protocol {
        self.database.map_or(self.protocol.described(), Database::protocol)
    }

    /// Its k-th arrival is due at k/rate: it says so.
    pub(crate) fn claims_schedule(&self) -> bool {
        self.model == LoadModel::Open && self.arrivals == Arrivals::Even
    }

    /// What `lab serve` is told for it.
    pub fn serve_flags(&self) -> Vec<String> {
        let mut flags: Vec<String> = match self.protocol {
            Protocol::Http1 => Vec::new(),
            Protocol::Http2 => vec!["--http".into(), "2".into()],
            Protocol::Grpc => vec!["--grpc".into()],
            Protocol::WebSocket => vec!["--ws".into()],
        };
        flags.extend(self.tls.then(|| "--tls".into()));
        if let Some(events) = self.events {
            flags.extend(["--events".into(), events.to_string()]);
        }
        flags
    }
}

/// How to ask for the version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Words after the program; `None`: it does not say.
    pub command: Option<Vec<String>>,
    /// Group `version`, in what it prints. A program that does not print this is another of the same name.
    #[serde(default, with = "crate::read::optional")]
    pub pattern: Option<Regex>,
}

/// Where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// The registry.
    pub from: Registry,
    /// What to ask it for.
    pub package: String,
    /// Which version.
    pub version: Option<String>,
    /// Of a Go program that can't be installed by its path: the package that a main of ours calls.
    pub main: Option<String>,
    /// Of a Java program: how it is put together and started.
    pub java: Option<Java>,
}

/// A Java program: jars from Maven Central, beside them a class of ours where the tool has no command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Java {
    /// More artefacts of the same version, as `group:artifact`.
    #[serde(default)]
    pub with: Vec<String>,
    /// Artefacts whose jar is unpacked beside the others, by their name.
    #[serde(default)]
    pub unpack: Vec<String>,
    /// Sources that are compiled, by file name.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// What stands between the class path and the tool's own words: options and the main class. `$home` is the
    /// program's folder.
    pub words: Vec<String>,
}

/// A registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registry {
    /// The distribution's.
    Apt,
    /// The Go module proxy.
    Go,
    /// crates.io.
    Cargo,
    /// PyPI.
    Pip,
    /// npm.
    Npm,
    /// Maven Central.
    Maven,
}

impl Definition {
    /// Those that come with the program.
    pub fn built_in() -> Result<Vec<Definition>, DefinitionError> {
        BUILT_IN.iter().map(|(name, text)| Definition::parse(&format!("tool {name}"), text)).collect()
    }

    /// One from a file.
    pub fn load(path: &Path) -> Result<Definition, DefinitionError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| DefinitionError::Read { path: path.to_owned(), source })?;
        Definition::parse(&path.display().to_string(), &text)
    }

    /// A command of the user's own, to be read in this way.
    pub fn of_command(
        program: &str,
        words: &[String],
        model: LoadModel,
        output: Output,
    ) -> Result<Definition, DefinitionError> {
        let definition = Definition {
            protocol: Protocol::Http1,
            database: None,
            arrivals: Arrivals::Even,
            tls: false,
            events: None,
            name: "audited".to_owned(),
            program: program.to_owned(),
            about: "a command".to_owned(),
            model,
            command: words.to_vec(),
            convert: None,
            files: BTreeMap::new(),
            environment: BTreeMap::new(),
            exit_codes: Vec::new(),
            overtime_s: None,
            leaves_out_s: None,
            version: Version { command: None, pattern: None },
            output,
            install: None,
            hint: None,
            fingerprint: None,
        };
        let fail = |reason| DefinitionError::Parse { place: "the command".to_owned(), reason };
        definition.check().map_err(fail)?;
        Ok(definition)
    }

    fn parse(place: &str, text: &str) -> Result<Definition, DefinitionError> {
        let fail = |reason: String| DefinitionError::Parse { place: place.to_owned(), reason };
        let mut definition: Definition = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
        definition.check().map_err(fail)?;
        definition.fingerprint = Some(fingerprint(text));
        Ok(definition)
    }

    fn check(&self) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if self.name.is_empty() || !self.name.chars().all(is_plain) || self.name.starts_with(['.', '-']) {
            return Err(format!(
                "the name {:?} is to be the name of a folder: letters, digits and -",
                self.name
            ));
        }
        let is_inside = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
        let files = self.files.keys().map(String::as_str).chain(self.output.source().file());
        if let Some(name) = files.into_iter().find(|name| !is_inside(name)) {
            return Err(format!("the file {name:?} must lie in the cell's own folder: a name without /"));
        }
        if self.database.is_some() && (self.tls || self.events.is_some() || self.protocol != Protocol::Http1)
        {
            return Err(
                "a database is spoken to in its own protocol: leave out protocol, tls and events".to_owned()
            );
        }
        if let Some(events) = self.events {
            if self.protocol == Protocol::WebSocket {
                return Err("events come over HTTP and gRPC, not as messages of a WebSocket".to_owned());
            }
            if events == 0 || events > EventStream::MOST {
                return Err(format!("an answer has 1 to {} events", EventStream::MOST));
            }
        }
        if let Some(overtime_s) = self.overtime_s
            && !(1..=OVERTIME_S_MAX).contains(&overtime_s)
        {
            return Err(format!(
                "overtime_s = {overtime_s}: after its load a tool may take 1 to {OVERTIME_S_MAX} s to end"
            ));
        }
        let words = self.command.iter().chain(self.convert.iter().flatten());
        for word in words {
            template::check(word).map_err(|error| error.to_string())?;
        }
        let mut texts = self.command.iter().chain(self.files.values());
        if !texts.any(|text| ["{url}", "{port}"].iter().any(|place| text.contains(place))) {
            return Err("neither the command nor a file holds {url}: it would load nothing".to_owned());
        }
        self.output.check()?;
        if let Some(pattern) = &self.version.pattern
            && !pattern.capture_names().flatten().any(|name| name == "version")
        {
            return Err(format!("the version's pattern {pattern} has no group (?<version>…)"));
        }
        if let Some(Install { from: Registry::Maven, java: None, .. }) = &self.install {
            return Err("from Maven comes a Java program: [install.java] says how it is started".to_owned());
        }
        if let Some(java) = self.install.as_ref().and_then(|install| install.java.as_ref())
            && let Some(name) = java.sources.keys().find(|name| !is_inside(name))
        {
            return Err(format!("the source {name:?} must be a file name without /"));
        }
        Ok(())
    }

    /// The command that installs it, for people.
    pub fn install_command(&self) -> Option<String> {
        let Some(install) = &self.install else { return self.hint.clone() };
        Some(match install.from {
            Registry::Apt => format!("apt-get install {}", install.package),
            _ => format!("unblink lab install {}", self.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_can_be_used_and_has_its_files_name() {
        let all = Definition::built_in().expect("definitions");
        for (definition, (name, _)) in all.iter().zip(BUILT_IN) {
            assert_eq!(definition.name, *name);
            assert!(definition.install.is_some() || definition.hint.is_some(), "{name}");
        }
    }

    #[test]
    fn tools_over_other_protocols_can_be_used_and_have_their_files_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
        let mut count = 0;
        for (of, protocol) in [
            ("http2", Some(Protocol::Http2)),
            ("grpc", Some(Protocol::Grpc)),
            ("websocket", Some(Protocol::WebSocket)),
            ("events", None),
        ] {
            for entry in folder.join(of).read_dir().expect("a folder") {
                let path = entry.expect("an entry").path();
                let definition = Definition::load(&path).expect("a definition");
                assert_eq!(Some(definition.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
                assert!(definition.install.is_some() || definition.hint.is_some(), "{}", definition.name);
                assert_eq!(definition.events.is_some(), protocol.is_none(), "{}", definition.name);
                assert!(protocol.is_none_or(|protocol| protocol == definition.protocol));
                let can = ["accept", "errors", "saturation", "stall"]
                    .map(|name| definition.can_meet(&Scenario::preset(name).expect("a preset")));
                let is_http = matches!(definition.protocol, Protocol::Http1 | Protocol::Http2);
                let is_http1 = definition.protocol == Protocol::Http1;
                let expected =
                    [is_http1, is_http || definition.protocol == Protocol::Grpc, protocol.is_some(), true];
                assert_eq!(can, expected, "{}", definition.name);
                count += 1;
            }
        }
        assert_eq!(count, 14);
    }

    #[test]
    fn a_server_is_told_what_its_tool_speaks() {
        let told = |head: &str| {
            let definition = with(|text| format!("{head}\n{text}"))?;
            Ok::<_, String>((definition.url("a:1"), definition.serve_flags().join(" ")))
        };
        assert_eq!(told("tls = true"), Ok(("https://a:1/".into(), "--tls".into())));
        assert_eq!(told("protocol = \"grpc\""), Ok(("grpc://a:1/lab.Echo/Say".into(), "--grpc".into())));
        assert_eq!(told("protocol = \"websocket\""), Ok(("ws://a:1/".into(), "--ws".into())));
        let both = "protocol = \"http/2\"\nevents = 3";
        assert_eq!(told(both), Ok(("http://a:1/".into(), "--http 2 --events 3".into())));
        assert!(told("events = 0").expect_err("none").contains("1 to 10000"));
        assert!(told("protocol = \"websocket\"\nevents = 3").expect_err("no").contains("WebSocket"));
        assert!(told("protocol = \"spdy\"").expect_err("unknown").contains("spdy"));
    }

    #[test]
    fn a_tool_that_counts_may_take_longer_than_its_load() {
        let case = Case::preset("ramp", Duration::from_secs(60)).expect("a preset");
        let patience_s = |head: &str| {
            with(|text| format!("{head}\n{text}")).map(|definition| definition.patience(&case).as_secs())
        };
        assert_eq!(patience_s(""), Ok(60 + 30 + 45));
        assert_eq!(patience_s("overtime_s = 600"), Ok(660));
        for wrong in ["overtime_s = 0", "overtime_s = 86401"] {
            let error = patience_s(wrong).expect_err(wrong);
            assert!(error.contains(wrong) && error.contains("1 to 86400 s"), "{error}");
        }
    }

    #[test]
    fn apache_bench_by_count_has_time_for_the_ramp() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/article/ab-count.toml");
        let definition = Definition::load(&path).expect("a definition");
        let case = Case::preset("ramp", Duration::from_secs(60)).expect("a preset");
        // It asks as often as the rate comes to; each of its users waits for as long as an answer takes.
        let (mut now_ns, mut asked) = (0_u64, 0);
        while asked < case.planned() {
            now_ns += case.scenario.baseline_ns(now_ns);
            asked += u64::from(case.users);
        }
        let needed = Duration::from_nanos(now_ns);
        assert!(needed > Duration::from_secs(360), "{needed:?}");
        assert!(definition.patience(&case) > needed + OVERTIME, "{needed:?}");
    }

    #[test]
    fn a_definition_is_told_from_one_with_another_script() {
        let (one, other) = (with(str::to_owned).unwrap(), with(|text| format!("{text}\n")).unwrap());
        assert!(one.fingerprint.is_some() && one.fingerprint != other.fingerprint);
    }

    fn with(change: impl Fn(&str) -> String) -> Result<Definition, String> {
        let text = include_str!("../../tools/wrk2.toml");
        Definition::parse("FILE", &change(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_definition_that_can_not_work_is_refused_with_its_place() {
        assert!(with(str::to_owned).is_ok());
        let error = with(|text| text.replace("model = \"open\"", "model = \"opened\"")).expect_err("a model");
        assert!(error.starts_with("FILE: ") && error.contains("opened"), "{error}");
        let error = with(|text| text.replace("name = \"wrk2\"", "name = \"../x\"")).expect_err("a name");
        assert!(error.contains("letters, digits"), "{error}");
        let error = with(|text| text.replace("{url}", "http://x/")).expect_err("no url");
        assert!(error.contains("{url}"), "{error}");
        let error = with(|text| text.replace("{duration_s}", "{seconds}")).expect_err("a placeholder");
        assert!(error.contains("{seconds}") && error.contains("duration_s"), "{error}");
        assert!(with(|text| format!("colour = 1\n{text}")).expect_err("a key").contains("colour"));
    }
}
