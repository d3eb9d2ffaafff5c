//! The flags that matter most, by command.

/// A command whose flags don't fit a screen: those that matter most, in the order of the screen.
pub(super) struct Short {
    /// As it is called: `lab serve`.
    pub(super) command: &'static str,
    /// What stands without a dash, by the name that clap has for it, and what it is in a line.
    pub(super) arguments: Words,
    /// Under each heading the flags, in the same way.
    pub(super) groups: &'static [(&'static str, Words)],
}

/// What clap calls it, and what it is in a line.
type Word = (&'static str, &'static str);
type Words = &'static [Word];

// What several commands have.
const RATE: Word = ("rate", "Requests per second: 5000, 30/m, 100..5000 (ramp)");
const CLOSED: Word = ("closed", "Closed loop: this many users who each wait");
const ARRIVALS: Word = ("arrivals", "How requests are spaced in time");
const CONNECTIONS: Word = ("connections", "auto or N [default: auto, or N for a database]");
const TIMEOUT: Word = ("timeout", "Time out this long after it's due");
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

const SIGNOFF: Short = Short {
    command: "signoff",
    arguments: &[("plan", "The plan with its [[stages]]")],
    groups: &[
        (
            "Stages",
            &[
                ("dry_run", "Say what would run and how long it takes"),
                ("simulate", "Run everything on the plan's [world], in virtual time"),
                ("fail_fast", "Skip the stages after one that did not pass"),
                ("resume", "Continue an interrupted sign-off"),
            ],
        ),
        ("Many machines", &[("agents", "Agents on the bus that offer the load, or local:N")]),
        (
            RESULT,
            &[
                ("output", "Folder for the report and the records"),
                ("json", "Print the document as JSON"),
                ("junit", "Write JUnit XML"),
            ],
        ),
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
                ("timeout", "Treat a slower answer as no answer"),
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

const K8S_RENDER: Short = Short {
    command: "k8s render",
    arguments: &[URLS],
    groups: &[
        (LOAD, &[RATE, ("duration", "How long to measure [default: 30s]"), ARRIVALS]),
        (
            "Kubernetes",
            &[
                ("agents", "Let this many pods offer the load together"),
                ("name", "What all objects are called"),
                ("namespace", "Where they are [default: as kubectl has it]"),
                ("image", "Image whose entry point is unblink"),
                ("cpu", "Processors of each agent"),
                ("memory", "Memory of each agent, and of the coordinator"),
                ("allow_target", "Agents only put load on this host"),
                ("secret", "Use the key pairs of these Secrets"),
                ("env_secret", "Fill ${X} of the plan in from this Secret"),
                ("claim", "Keep run folders on this claim"),
                ("bus", "Use this NATS server"),
            ],
        ),
        (RESULT, &[SLO, JSON, ("output", "Write a file for each object into this folder")]),
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
                ("agents", "Judge a fleet of this many"),
                ("cores", "Processors of each"),
                ("nic", "Speed of its network, in bits per second"),
            ],
        ),
        (
            "Constants",
            &[
                ("constants", "A file that --calibrate wrote"),
                ("set", "Use another value"),
                ("calibrate", "Measure them on this machine"),
                ("output", "Write what was measured into this file"),
            ],
        ),
        (RESULT, &[("json", "Print the answer as JSON")]),
    ],
};

pub(super) const SHORT: [Short; 15] = [
    RUN, TRY, FILL, SIM, SIZE, COMPARE, KNEE, SIGNOFF, MIRROR, REPORT, MERGE, EXPLAIN, K8S_RENDER, LAB_SERVE,
    LAB_AUDIT,
];
