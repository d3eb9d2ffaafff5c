//! A plan to begin with: every field with its help, most of them as comments.

use super::fields::{self, For, Kind};
use super::picture::wrapped;
use std::fmt::Write;

/// What stands in the plan without a comment sign. The length is enough for its objectives: errors < 0.1% takes 3,838
/// arrivals without an error.
const GIVEN: [(&str, &str); 4] =
    [("rate", "100"), ("duration", "60s"), ("warmup", "5s"), ("slo", "[\"p99 < 200ms\", \"errors < 0.1%\"]")];

/// Characters of a line that an editor shows whole.
const LINE_MAX: usize = 101;

const HEAD: &str = "\
# A plan of unblink: what is asked, of whom, how often, and what it is to fulfil.
#   unblink plan show FILE    what it comes to, with a picture of the load
#   unblink try FILE          sends each of its requests once and shows all of it
#   unblink run FILE          runs it; a flag on the command line overrides the field of its name
#   unblink sim FILE          simulates it, in virtual time ([world] says what the server does)
#   unblink knee FILE         looks for the highest rate that meets its percentile ([search] says how)
#   unblink signoff FILE      runs its stages one after the other ([[stages]] says which)
#   unblink compare FILE      holds candidate against target under its load ([comparison] says how)
# Values are written as on the command line; ${NAME} in target, url, header and body comes from the environment.

target = \"http://127.0.0.1:8080/\"
# candidate = \"http://127.0.0.1:8081/\"
";

const TAIL: &str = "
# Several loads at the same time, in the place of rate and duration in [load]: a base, and a sale on top of it.
# [[loads]]
# name = \"base\"
# rate = 100
# duration = \"60s\"
# [[loads]]
# name = \"sale\"
# rate = 400
# start = \"20s\"
# duration = \"10s\"
# only = [\"cart\"]

# Several requests, each with its share of the load (or all without, and sent in turn); an objective may name one:
# \"cart: p99 < 200ms\".
# [[requests]]
# share = \"80%\"
# url = \"/items\"
# [[requests]]
# share = \"20%\"
# name = \"cart\"
# url = \"/cart\"
# method = \"POST\"
# header = [\"Content-Type: application/json\", \"Authorization: Bearer ${TOKEN}\"]
# body = '{\"items\": 3}'

# Values that are drawn for each request: {{item}} in a path, query, header or body is filled in with one.
# [let]
# item = \"zipf(1M)\"
# size = \"lognormal(4KiB, 1.2, max=1MiB)\"

# A request before the load, and again every so often, whose answer brings a token: {{token}} in the requests below.
# [[setup]]
# url = \"/login\"
# json = { user = \"me\", password = \"${PASSWORD}\" }
# capture = { token = \"json $.access_token\" }
# every = \"5m\"

# Requests that follow each other, as one user makes them. Beside requests with shares it has one, too: share = \"5%\".
# [[journeys]]
# name = \"buy\"
# think = \"exp(3s)\"
# [[journeys.steps]]
# url = \"/items/{{item}}\"
# [[journeys.steps]]
# url = \"/orders\"
# chance = \"30%\"
# header = [\"Authorization: Bearer {{token}}\"]
# json = { item = \"{{number(item)}}\" }

# Stages of a sign-off (unblink signoff): each is a search or a run of its own, and later ones go by the knee that was found.
# [[stages]]
# kind = \"knee\"
# [[stages]]
# kind = \"hold\"
# rate = \"75% of knee\"
# duration = \"10m\"
";

/// The text of the plan.
pub(crate) fn text() -> String {
    let mut out = HEAD.to_string();
    for section in fields::sections() {
        let _ = writeln!(out, "\n[{section}]");
        for field in fields::of(section) {
            for line in wrapped(&field.help, LINE_MAX).lines() {
                let _ = writeln!(out, "# {line}");
            }
            let example = match (field.default_for(&For::ALL), field.kind) {
                (_, Kind::Switch) => "true".to_string(),
                (Some(default), Kind::One) => format!("{default:?}"),
                (_, Kind::Many) => "[]".to_string(),
                (_, Kind::Table | Kind::Pairs) => "{}".to_string(),
                (None, Kind::One) => format!("\"{}\"", field.value_name),
            };
            let _ = match GIVEN.iter().find(|(name, _)| *name == field.name) {
                Some((_, value)) if value.starts_with('[') => writeln!(out, "{} = {value}", field.key()),
                Some((_, value)) => writeln!(out, "{} = \"{value}\"", field.key()),
                None => writeln!(out, "# {} = {example}", field.key()),
            };
        }
    }
    out + TAIL
}
