//! The load generators that are held against each other: how each is found, and how it is told what to do.

mod arguments;
pub(crate) mod report;
mod version;

use anyhow::Result;
use std::path::{Path, PathBuf};

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

/// Other people's tools, in the order of the tables, with the command that installs each: the lab's files know where from
/// and in which version.
pub(crate) const PEERS: [(Tool, &str); 10] = [
    (Tool::Wrk, "unblink lab install wrk"),
    (Tool::Wrk2, "unblink lab install wrk2"),
    (Tool::Ab, "unblink lab install ab"),
    (Tool::H2load, "unblink lab install h2load"),
    (Tool::Hey, "unblink lab install hey"),
    (Tool::Bombardier, "unblink lab install bombardier"),
    (Tool::Vegeta, "unblink lab install vegeta"),
    (Tool::Fortio, "unblink lab install fortio"),
    (Tool::K6, "unblink lab install k6-constant-vus"),
    (Tool::Oha, "unblink lab install oha"),
];

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
    pub missing: Vec<(Tool, &'static str)>,
    /// Whether `unblink run` knows pacing modes.
    pub has_pacing: bool,
}

/// Looks for everybody: `unblink` where it is said to be, ours in this binary, peers among what the lab
/// installed or on the PATH.
pub(crate) fn find(unblink: &Path) -> Result<Field> {
    let ours = std::env::current_exe()?;
    let own_version = version::of(Tool::Unblink(Way::Plain), unblink)?;
    let mut field = Field {
        present: vec![
            Generator {
                tool: Tool::Unblink(Way::Plain),
                program: unblink.to_path_buf(),
                version: own_version,
            },
            Generator { tool: Tool::Raw, program: ours.clone(), version: String::new() },
            Generator { tool: Tool::Pace, program: ours, version: String::new() },
        ],
        missing: Vec::new(),
        has_pacing: version::says(unblink, &["run", "--help"])?.contains("--pacing"),
    };
    for (tool, install) in PEERS {
        match installed(&tool.name()) {
            Some(program) if is_it(tool, &program)? => {
                let version = version::of(tool, &program)?;
                field.present.push(Generator { tool, program, version });
            }
            _ => field.missing.push((tool, install)),
        }
    }
    Ok(field)
}

fn installed(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let data = set("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/share")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        data.map(|data| data.join("unblink/tools/bin")).into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Debian has a game called bombardier; whoever else has a name of these is taken for what it is called.
fn is_it(tool: Tool, program: &Path) -> Result<bool> {
    Ok(tool != Tool::Bombardier || version::says(program, &["--help"])?.contains("benchmarking"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_knows_how_to_install_every_peer() {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/lab/tools");
        for (tool, install) in PEERS {
            let definition = install.strip_prefix("unblink lab install ").expect("a command of the lab");
            let text = std::fs::read_to_string(tools.join(format!("{definition}.toml"))).expect(definition);
            assert!(text.contains(&format!("\nprogram = \"{}\"\n", tool.name())), "{definition}");
        }
    }
}
