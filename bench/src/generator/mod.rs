//! The load generators that are held against each other: how each is found, and how it is told what to do.

mod arguments;
pub(crate) mod report;

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use unblink_lab::{Definition, Places};

pub(crate) use arguments::Job;

/// A generator that can take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Unblink(Way),
    /// The ceiling of throughput.
    Raw,
    /// The reference of pacing.
    Pace,
    Wrk,
    Wrk2,
    Ab,
    Hey,
    H2load,
    Bombardier,
    Oha,
    Vegeta,
    K6,
    Fortio,
}

/// How unblink is told to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it is by default.
    Plain,
    /// In this pacing mode, where the binary has modes.
    Pacing(&'static str),
    /// With so many worker threads, which spin for nothing.
    Threads(u32),
}

/// Other people's tools, in the order of the tables, with the lab's definition of each: where it comes from, its version, and how its
/// report is read. The loads here are of more kinds than one definition has, so that each command is made here.
pub(crate) const PEERS: [(Tool, &str); 10] = [
    (Tool::Wrk, "wrk"),
    (Tool::Wrk2, "wrk2"),
    (Tool::Ab, "ab"),
    (Tool::H2load, "h2load"),
    (Tool::Hey, "hey"),
    (Tool::Bombardier, "bombardier"),
    (Tool::Vegeta, "vegeta"),
    (Tool::Fortio, "fortio"),
    (Tool::K6, "k6-arrival-rate"),
    (Tool::Oha, "oha-corrected"),
];
const UNBLINK: &str = "unblink-open";

/// unblink and the references.
pub(crate) const OURS: [Tool; 3] = [Tool::Unblink(Way::Plain), Tool::Raw, Tool::Pace];

impl Tool {
    /// As tables have it.
    pub(crate) fn name(self) -> String {
        let name = match self {
            Tool::Unblink(Way::Pacing(mode)) => return format!("unblink {mode}"),
            Tool::Unblink(Way::Threads(threads)) => return format!("unblink -t {threads}"),
            Tool::Unblink(Way::Plain) => "unblink",
            Tool::Raw => "raw loop",
            Tool::Pace => "sleep and spin",
            Tool::Wrk => "wrk",
            Tool::Wrk2 => "wrk2",
            Tool::Ab => "ab",
            Tool::Hey => "hey",
            Tool::H2load => "h2load",
            Tool::Bombardier => "bombardier",
            Tool::Oha => "oha",
            Tool::Vegeta => "vegeta",
            Tool::K6 => "k6",
            Tool::Fortio => "fortio",
        };
        name.to_string()
    }
}

/// A tool that is there.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    pub tool: Tool,
    pub program: PathBuf,
    /// As it says of itself; empty when it says nothing.
    pub version: String,
    /// The lab's; the references have none.
    pub definition: Option<Definition>,
}

impl Generator {
    /// unblink, told to run in this way.
    pub(crate) fn told(&self, way: Way) -> Generator {
        Generator { tool: Tool::Unblink(way), ..self.clone() }
    }
}

/// Who takes part, and who is missing.
pub(crate) struct Field {
    pub present: Vec<Generator>,
    /// With the command that installs it.
    pub missing: Vec<(Tool, String)>,
}

/// Looks for everybody: `unblink` where it is said to be, ours in this binary, peers among what the lab
/// installed or on the PATH.
pub(crate) fn find(unblink: &Path) -> Result<Field> {
    let ours = std::env::current_exe()?;
    let definitions = Definition::built_in()?;
    let installed = Places::usual().context("neither XDG_DATA_HOME nor HOME is set")?;
    let places = Places { own: unblink.to_path_buf(), installed };
    let look = |tool, name: &str| {
        let definition = definitions.iter().find(|definition| definition.name == name);
        let definition = definition.with_context(|| format!("the lab does not know {name}"))?;
        anyhow::Ok(places.find(definition).map(|found| Generator {
            tool,
            program: found.program,
            version: found.version.unwrap_or_default(),
            definition: Some(definition.clone()),
        }))
    };
    let own = look(Tool::Unblink(Way::Plain), UNBLINK)?.map_err(anyhow::Error::msg)?;
    let reference =
        |tool| Generator { tool, program: ours.clone(), version: String::new(), definition: None };
    let mut field =
        Field { present: vec![own, reference(Tool::Raw), reference(Tool::Pace)], missing: Vec::new() };
    for (tool, name) in PEERS {
        match look(tool, name)? {
            Ok(generator) => field.present.push(generator),
            Err(_) => field.missing.push((tool, format!("unblink lab install {name}"))),
        }
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_knows_every_tool() {
        let all = Definition::built_in().expect("definitions");
        let program = |name: &str| all.iter().find(|one| one.name == name).map(|one| one.program.clone());
        for (tool, name) in PEERS.into_iter().chain([(Tool::Unblink(Way::Plain), UNBLINK)]) {
            assert_eq!(program(name), Some(tool.name()), "{name}");
        }
    }
}
