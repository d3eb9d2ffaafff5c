//! What `-h` shows: one screen of 80 columns. `--help` keeps every flag and every word.

use super::Cli;
use clap::{Command, CommandFactory, Id};

/// A command whose flags don't fit a screen: those that matter most, in the order of the screen.
struct Short {
    /// As it is called: `lab serve`.
    command: &'static str,
    /// What stands without a dash, by the name that clap has for it, and what it is in a line.
    arguments: Words,
    /// Under each heading the flags, in the same way.
    groups: &'static [(&'static str, Words)],
}

/// What clap calls it, and what it is in a line.
type Word = (&'static str, &'static str);
type Words = &'static [Word];

// What several commands have.
const RATE: Word = ("rate", "Requests per second: 5000, 30/m, 100..5000 (ramp)");
const CLOSED: Word = ("closed", "Closed loop: this many users who each wait");
const ARRIVALS: Word = ("arrivals", "How requests are spaced in time");
const CONNECTIONS: Word = ("connections", "auto, auto:MAX, or a fixed number");
const TIMEOUT: Word = ("timeout", "Time out so long after it was due");
const HEADERS: Word = ("headers", "Add a header; may be given several times");
const WARMUP: Word = ("warmup", "Load before measuring begins");
const SLO: Word = ("slo", "Objective: 'p99 < 200ms', 'errors < 0.1%'");
const JSON: Word = ("json", "Print the run document as JSON");
const URLS: Word = ("urls", "Where to send requests, or a plan (.toml, .yaml, .yml)");
const VIRTUAL: Word = ("duration", "Length in virtual time [default: 30s]");
const SERVER: Word = ("server", "The server: 'slots=1 service=exp(1ms)'");
const NETWORK: Word = ("network", "The network: 'latency=1ms jitter=200us'");
const SCENARIO: Word = ("scenario", "healthy, stall, ramp, pauses, saturation, one-server");
const METHOD: Word = ("method", "Method [default: GET, or POST with a body]");
const BODY: Word = ("body", "Send this body");

const LOAD: &str = "Load";
const REQUEST: &str = "Request";
const RESULT: &str = "Result";

const RUN: Short = Short {
    command: "run",
    arguments: &[URLS],
    groups: &[
        (
            LOAD,
            &[
                RATE,
                CLOSED,
                ("duration", "How long to measure [default: 30s]"),
                ("requests", "Stop after this many requests"),
                WARMUP,
                ARRIVALS,
                CONNECTIONS,
                TIMEOUT,
            ],
        ),
        (REQUEST, &[METHOD, HEADERS, BODY]),
        (
            RESULT,
            &[
                SLO,
                ("abort_on", "Stop the run: 'p99 > 2s for 5s'"),
                ("output", "Folder for the record and the report"),
                JSON,
            ],
        ),
    ],
};

const TRY: Short = Short {
    command: "try",
    arguments: &[URLS],
    groups: &[
        (REQUEST, &[("arrival", "Send only what this arrival of the run sends"), METHOD, HEADERS, BODY]),
        (LOAD, &[RATE, CLOSED, ARRIVALS]),
        (RESULT, &[("json", "Print everything as JSON")]),
    ],
};

const SIM: Short = Short {
    command: "sim",
    arguments: &[("plan", "A plan (.toml, .yaml, .yml)")],
    groups: &[
        (
            "World",
            &[SCENARIO, SERVER, NETWORK, ("client", "The tool: ideal, wrk, wrk2, k6, ycsb, retry, herd, …")],
        ),
        (LOAD, &[RATE, CLOSED, VIRTUAL, ARRIVALS, CONNECTIONS, TIMEOUT]),
        (RESULT, &[SLO, ("output", "Folder for the record"), JSON]),
    ],
};

const COMPARE: Short = Short {
    command: "compare",
    arguments: &[
        ("baseline", "URL, folder of a run or of runs, baseline:NAME, latest, or a plan"),
        ("candidate", "The candidate: the same kinds as BASE"),
    ],
    groups: &[
        (
            "Comparison",
            &[
                ("runs", "Runs of each side"),
                ("percentile", "The percentile that decides"),
                ("min_effect", "Ignore a smaller change"),
                ("a_a", "Compare the baseline with itself: the noise"),
            ],
        ),
        (
            LOAD,
            &[
                ("rate", "Requests per second, in each run"),
                CLOSED,
                ("duration", "How long each run lasts [default: 30s]"),
                WARMUP,
                ARRIVALS,
                CONNECTIONS,
                TIMEOUT,
            ],
        ),
        (REQUEST, &[HEADERS]),
        (
            RESULT,
            &[
                ("output", "Folder for the runs and the comparison"),
                ("resume", "Continue an interrupted comparison"),
                ("json", "Print the comparison as JSON"),
            ],
        ),
    ],
};

const KNEE: Short = Short {
    command: "knee",
    arguments: &[URLS],
    groups: &[
        (
            "Search",
            &[
                ("slo", "The objective: 'p99 < 200ms'"),
                ("start", "First rate to try"),
                ("max", "Highest rate to try"),
                ("resolution", "How precise the answer must be"),
                ("at_least", "Only check this rate (exit 1: not met)"),
                ("within", "Limit the total time under load"),
                ("resume", "Continue an interrupted search"),
            ],
        ),
        ("Connections", &[CONNECTIONS, TIMEOUT]),
        (REQUEST, &[METHOD, HEADERS, BODY]),
        (RESULT, &[("output", "Folder for the search"), ("json", "Print the search as JSON")]),
    ],
};

const REPORT: Short = Short {
    command: "report",
    arguments: &[("dir", "A run's folder, its name in the history, or latest")],
    groups: &[
        (
            "Which part",
            &[
                ("from", "From this time on, counted from the start"),
                ("to", "Up to this time, counted from the start"),
            ],
        ),
        (
            RESULT,
            &[
                ("slo", "Judge by this instead: 'p99 < 200ms'"),
                JSON,
                ("html", "Write the HTML report to this file"),
                ("csv", "Write the figures over time (-: to stdout)"),
                ("csv_percentiles", "Write the percentiles with their intervals"),
                ("hgrm", "Write them in HdrHistogram's text form"),
                ("junit", "Write the objectives as JUnit XML"),
                ("summary", "Write a summary in Markdown"),
                ("svg", "Write every picture into this folder"),
            ],
        ),
    ],
};

const MERGE: Short = Short {
    command: "merge",
    arguments: &[("dirs", "The run folders of the machines, or merged ones")],
    groups: &[(
        RESULT,
        &[
            ("output", "Folder for the merged record and its report"),
            JSON,
            ("csv", "Write the figures over time (-: to stdout)"),
            ("csv_percentiles", "Write the percentiles with their intervals"),
            ("hgrm", "Write them in HdrHistogram's text form"),
            ("junit", "Write the objectives as JUnit XML"),
            ("summary", "Write a summary in Markdown"),
            ("svg", "Write every picture into this folder"),
        ],
    )],
};

const EXPLAIN: Short = Short {
    command: "explain",
    arguments: &[],
    groups: &[
        ("World", &[SCENARIO, SERVER, NETWORK]),
        (LOAD, &[RATE, VIRTUAL, ARRIVALS]),
        (RESULT, &[("output", "Write the page and the picture here"), ("json", "Print everything as JSON")]),
    ],
};

const LAB_SERVE: Short = Short {
    command: "lab serve",
    arguments: &[],
    groups: &[(
        "Server",
        &[
            ("scenario", "What to do to the requests"),
            ("made_for", "Fit the events to a run of this length"),
            ("listen", "Where to listen; port 0 takes any free one"),
            ("max_concurrency", "Requests served at once"),
            ("truth", "Log what the server did to each request"),
            ("tls", "Serve https with a self-made certificate"),
            ("json", "Print the address as JSON"),
        ],
    )],
};

const LAB_AUDIT: Short = Short {
    command: "lab audit",
    arguments: &[],
    groups: &[
        (
            "Audit",
            &[
                ("known", "A known tool (unblink lab tools lists them)"),
                ("closed", "The tool claims to be closed loop"),
                ("scenarios", "Only these scenarios"),
                ("length", "Length of each run"),
                ("output", "Keep the cells here"),
                ("json", "Print the document as JSON"),
            ],
        ),
        (
            "Its output",
            &[
                ("like", "The same as this tool's"),
                ("percentile", "Lines with a percentile, as a regular expression"),
                ("csv", "One row per request, latency in this column"),
                ("hlog", "An HdrHistogram log"),
                ("hgrm", "HdrHistogram's percentile distribution as text"),
                ("unit", "Unit of its times"),
                ("file", "The file that the tool writes in its folder"),
            ],
        ),
    ],
};

const FILL: Short = Short {
    command: "fill",
    arguments: &[("url", "The store: redis://… or postgres://…")],
    groups: &[
        (
            "What",
            &[
                ("workload", "ycsb-a to ycsb-f"),
                ("properties", "YCSB's own property file"),
                ("set", "A property, such as recordcount=1M"),
                ("create", "Create the table first, if it is not there"),
                ("resume", "Go on where a fill was interrupted"),
            ],
        ),
        (
            "How",
            &[
                ("connections", "Connections [default: 8]"),
                ("depth", "Requests under way at once on a connection"),
                ("json", "Print what was done as JSON"),
            ],
        ),
    ],
};

const MIRROR: Short = Short {
    command: "mirror",
    arguments: &[],
    groups: &[
        (
            "Requests",
            &[
                ("listen", "Where the proxy sends its copies"),
                ("baseline", "A second instance of the old version, not production"),
                ("candidate", "The new version"),
                ("noise", "A third instance, of the old version"),
                ("mutating", "Copy POST, PUT, DELETE and the like, too"),
                ("header", "Set a header in each copy"),
                ("length", "End after this time [default: at Ctrl-C]"),
            ],
        ),
        (
            "Bounds",
            &[
                ("queue", "Pairs under way at once"),
                ("connections", "To each target"),
                ("timeout", "An answer that takes longer is none"),
            ],
        ),
        (
            RESULT,
            &[
                ("percentile", "The percentile that decides"),
                ("min_effect", "A smaller difference doesn't count"),
                ("output", "Folder for the report"),
                ("json", "Print the document as JSON"),
            ],
        ),
    ],
};

const SIZE: Short = Short {
    command: "size",
    arguments: &[("plan", "A plan (.toml, .yaml, .yml) whose load it is")],
    groups: &[
        (
            LOAD,
            &[
                ("rate", "Requests per second of the whole load: 10M"),
                ("latency", "How long a request takes"),
                ("stall", "The worst stall that is to be carried"),
                ("tls", "Requests go over TLS"),
                ("body", "Body of each answer"),
                ("addresses", "Addresses of the target"),
                ("arrivals", "How they are dealt [default: poisson]"),
            ],
        ),
        (
            "Machines",
            &[
                ("agents", "Judge a fleet of so many"),
                ("cores", "Processors of each"),
                ("nic", "Speed of its network, in bits per second"),
            ],
        ),
        (
            "Constants",
            &[
                ("constants", "A file that --calibrate wrote"),
                ("set", "Reckon with another value"),
                ("calibrate", "Measure them on this machine"),
                ("output", "Write what was measured into this file"),
            ],
        ),
        (RESULT, &[("json", "Print the answer as JSON")]),
    ],
};

const SHORT: [Short; 13] =
    [RUN, TRY, FILL, SIM, SIZE, COMPARE, KNEE, MIRROR, REPORT, MERGE, EXPLAIN, LAB_SERVE, LAB_AUDIT];

/// The command line, with a screen of help at `-h`.
pub(crate) fn command() -> Command {
    shortened(Cli::command(), "")
}

/// `path` is how the command is called; that of the program itself is empty.
fn shortened(mut command: Command, path: &str) -> Command {
    if let Some(short) = SHORT.iter().find(|short| short.command == path) {
        command = flags_that_matter(command, short);
    }
    if let Some(long) = command.get_after_help().map(ToString::to_string) {
        let example = example(&long).map(|example| format!("EXAMPLE\n{example}\n")).unwrap_or_default();
        command = command.after_long_help(long);
        command = command.after_help(format!("{example}unblink {path} --help shows everything"));
    }
    command.mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name()).trim_start().to_string();
        shortened(sub, &path)
    })
}

fn flags_that_matter(command: Command, short: &Short) -> Command {
    let mut command = command.mut_args(|arg| {
        let is_named = !arg.is_positional() || arg.is_last_set();
        arg.hide_short_help(is_named)
    });
    let headed =
        short.groups.iter().flat_map(|(heading, flags)| flags.iter().map(|flag| (Some(*heading), flag)));
    for (heading, (name, what)) in short.arguments.iter().map(|argument| (None, argument)).chain(headed) {
        command = command.mut_arg(*name, |arg| {
            let all = arg.get_long_help().or(arg.get_help()).cloned().unwrap_or_default();
            let arg = arg.hide_short_help(false).help(*what).long_help(all);
            match heading {
                Some(heading) => arg.help_heading(heading),
                None => arg,
            }
        });
    }
    with_last_behind(command)
}

/// The same, with what stands behind `--` as the last argument: one that is changed moves behind those that are not.
pub(crate) fn with_last_behind(command: Command) -> Command {
    let last = command.get_positionals().filter(|arg| arg.is_last_set());
    let last: Vec<Id> = last.map(|arg| arg.get_id().clone()).collect();
    last.into_iter().fold(command, |command, id| command.mut_arg(id, |arg| arg))
}

/// The first of the examples, with the lines on which it goes on.
fn example(help: &str) -> Option<&str> {
    let examples = help.split_once("EXAMPLES\n")?.1;
    let lines = 1 + examples.lines().position(|line| !line.ends_with('\\'))?;
    let length: usize = examples.split_inclusive('\n').take(lines).map(str::len).sum();
    Some(examples[..length].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (path, text) of the help of every command.
    fn helps(command: &mut Command, path: &str, is_long: bool, all: &mut Vec<(String, String)>) {
        let text = if is_long { command.render_long_help() } else { command.render_help() };
        all.push((path.to_string(), text.to_string()));
        for sub in command.get_subcommands_mut() {
            let path = format!("{path} {}", sub.get_name());
            helps(sub, path.trim_start(), is_long, all);
        }
    }

    fn all(is_long: bool) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut command = command().term_width(80);
        command.build();
        helps(&mut command, "", is_long, &mut all);
        all
    }

    #[test]
    fn short_help_fits_a_screen() {
        for (path, text) in all(false) {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(text.lines().count() <= 40 && longest <= 80, "{path}: {}\n{text}", text.lines().count());
        }
    }

    /// Fifteen, and the two that every command has.
    #[test]
    fn short_help_of_run_shows_what_matters() {
        let (_, text) = all(false).into_iter().find(|(path, _)| path == "run").expect("run");
        let flags: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('-')).collect();
        assert_eq!(flags.len(), 15 + 2, "{text}");
        assert!(text.lines().count() >= 24);
    }

    /// The headings may be others; nothing is lost.
    #[test]
    fn long_help_has_every_flag_and_every_word() {
        let words = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
            words.sort();
            words
        };
        let mut plain = Cli::command().term_width(80);
        plain.build();
        let mut before = Vec::new();
        helps(&mut plain, "", true, &mut before);
        let headings = ["Which", "part", "Result", "Request", "Load", "World", "Server", "Search"];
        for ((path, with), (_, without)) in all(true).iter().zip(&before) {
            let mut rest = words(with);
            for word in words(without) {
                match rest.iter().position(|one| *one == word) {
                    Some(place) => drop(rest.remove(place)),
                    None => {
                        let bare = word.trim_end_matches(':');
                        let is_heading =
                            word.ends_with(':') && bare.chars().next().is_some_and(char::is_uppercase);
                        assert!(is_heading || headings.contains(&bare), "{path}: {word:?} is missing");
                    }
                }
            }
        }
    }
}
