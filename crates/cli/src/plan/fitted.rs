//! A plan fitted to recorded traffic, which says of each part how well it fits.

use std::collections::BTreeSet;
use std::fmt::Write;
use unblink_core::time::SECOND_NS;
use unblink_report::format;
use unblink_trace::fit::{ArrivalLaw, DispersionFit, Fit, KeyFit, KeyLaw, Operation, RateFit, SizeFit};

/// A law whose distance from the record is larger is said not to fit.
const DISTANCE_MAX: f64 = 0.05;
/// Methods whose requests have bodies.
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];
/// Characters of a comment's line.
const LINE_MAX: usize = 101;

/// What is written.
pub(super) struct Fitted {
    pub(super) plan: String,
    /// Files beside it, with their names.
    pub(super) files: Vec<(String, String)>,
    /// What is said of it.
    pub(super) report: String,
}

/// A plan for `fit`, which is of `source`; files beside it begin with `stem`.
pub(super) fn fitted(fit: &Fit, source: &str, stem: &str) -> Fitted {
    let mut names = Names::default();
    let keys: Vec<String> = fit.keys.iter().map(|keys| names.of(&key_name(&keys.place))).collect();
    let (mut files, mut lets, mut requests) = (Vec::new(), String::new(), String::new());
    let mut report = head(fit, source) + &load_words(&fit.rate);
    report += "Requests\n";
    let is_used = |number: usize| fit.operations.iter().any(|one| one.keys.contains(&Some(number)));
    for (_, (keys, name)) in fit.keys.iter().zip(&keys).enumerate().filter(|(number, _)| is_used(*number)) {
        let words = key_words(&keys.fit);
        let _ = writeln!(
            lets,
            "{}{name} = \"{}\"",
            comment(&format!("{}: {words}", keys.place)),
            key_law(&keys.fit)
        );
    }
    let largest = fit.operations.first().map_or(1, |one| one.count);
    for operation in &fit.operations {
        let _ = writeln!(
            report,
            "  {}  {} {}",
            share(operation.count, fit.requests),
            operation.method,
            operation.path
        );
        for words in operation_words(operation) {
            let _ = writeln!(report, "         {words}");
        }
        request(operation, &keys, largest, &mut requests);
        if let Some(size) = operation.sizes.as_ref().filter(|_| WITH_BODY.contains(&&*operation.method)) {
            let name = names.of(&size_name(operation));
            let law = size_law(size, || {
                let file = format!("{stem}-{name}.csv");
                let rows = size.histogram.iter().map(|(size, count)| format!("{size},{count}\n"));
                files.push((file.clone(), rows.collect()));
                file
            });
            let told = format!("{} {}: {}", operation.method, operation.path, size_words("requests", size));
            let _ = writeln!(lets, "{}{name} = \"{law}\"", comment(&told));
            let _ = writeln!(requests, "body = \"{{{{bytes({name})}}}}\"");
        }
    }
    if fit.others > 0 {
        let _ = writeln!(report, "  {}  others, which the plan leaves out", share(fit.others, fit.requests));
    }
    let keyed: Vec<_> = fit.keys.iter().enumerate().filter(|(number, _)| is_used(*number)).collect();
    if !keyed.is_empty() {
        report += "Keys\n";
        for (_, keys) in keyed {
            let _ = writeln!(report, "  {}: {}", keys.place, key_words(&keys.fit));
        }
    }
    report += "Not fitted\n";
    for words in not_fitted(fit) {
        let _ = writeln!(report, "  {words}");
    }
    let mut plan = String::new();
    let _ = writeln!(
        plan,
        "# A plan of unblink, fitted to recorded traffic. What it says of that, and how well it fits:\n#"
    );
    report.lines().for_each(|line| plan += &comment(line));
    let _ = write!(plan, "\ntarget = \"http://127.0.0.1:8080/\"\n\n[load]\n{}", load_fields(&fit.rate));
    plan +=
        "\n# Each request is drawn by itself, with its share of the record.\n[request]\norder = \"random\"\n";
    if !lets.is_empty() {
        plan += "\n# The record's own ids are not here: keys are numbers from 0 on, unless from= says otherwise.\n[let]\n";
        plan += &lets;
    }
    plan += &requests;
    Fitted { plan, files, report }
}

/// Each value has a name of its own.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn of(&mut self, name: &str) -> String {
        let others = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.to_string()).chain(others).find(|name| !self.0.contains(name));
        let free = free.unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

/// `items_id` of `/items/{id}`.
fn key_name(place: &str) -> String {
    let mut words = place.split('/').filter(|part| !part.is_empty() && !part.contains("{id}"));
    words.next_back().map_or_else(|| "key".into(), |word| letters(word) + "_id")
}

fn size_name(operation: &Operation) -> String {
    let mut words = operation.path.split('/').filter(|part| !part.is_empty() && !part.contains("{id}"));
    let word = words.next_back().map_or_else(String::new, |word| letters(word) + "_");
    format!("{}_{word}size", operation.method.to_lowercase())
}

fn letters(word: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = word.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Lines that are comments.
fn comment(text: &str) -> String {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let wrapped = super::picture::wrapped(text.trim_start(), LINE_MAX - indent.len());
    let mut out = String::new();
    for (place, line) in wrapped.lines().enumerate() {
        let more = if place == 0 { "" } else { "  " };
        let _ = writeln!(out, "# {indent}{more}{line}");
    }
    out
}

fn plain(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// As `-R` has it, whatever its size.
fn rate(per_s: f64) -> String {
    let (amount, unit) = match per_s {
        _ if per_s >= 1.0 => (per_s, "s"),
        _ if per_s * 60.0 >= 1.0 => (per_s * 60.0, "m"),
        _ => ((per_s * 3_600.0).max(1.0), "h"),
    };
    format!("{}/{unit}", plain(amount, 3))
}

fn load_fields(fit: &RateFit) -> String {
    let rates = match &fit.steps {
        Some(steps) => steps.iter().map(|step| rate(*step)).collect::<Vec<_>>().join(","),
        None => rate(fit.mean_per_s),
    };
    let length = plain(fit.length_ns as f64 / SECOND_NS as f64, 3);
    // A run of no time at all is none.
    let length = if length == "0" { "0.001".to_string() } else { length };
    format!("rate = \"{rates}\"\nduration = \"{length}s\"\narrivals = \"{}\"\n", arrivals(&fit.law))
}

fn arrivals(law: &ArrivalLaw) -> String {
    match law {
        ArrivalLaw::Even => "even".into(),
        ArrivalLaw::Poisson => "poisson".into(),
        ArrivalLaw::Bursty { peak, on_s, off_s } => {
            // As they are written: nothing may come in a lull, but not less.
            let [on, off] = [on_s, off_s].map(|time| (time * 1e6).round().max(1.0));
            let most = ((on + off) / on * 1e3).floor() / 1e3;
            let peak = ((peak * 1e3).round() / 1e3).clamp(1.001, most.clamp(1.001, 1_000.0));
            format!("bursty(peak={}x, on={on}us, off={off}us)", plain(peak, 3))
        }
    }
}

fn load_words(fit: &RateFit) -> String {
    let mut out = String::from("Load\n");
    let length = format::plain(&format::moment(fit.length_ns));
    let steps = match &fit.steps {
        None => format!(
            "constant: its parts differ as by chance (chi-square {:.0} with 19 degrees of freedom)",
            fit.chi_square
        ),
        Some(_) => format!(
            "in 20 steps: they differ by more than chance (chi-square {:.0} with 19 degrees of freedom)",
            fit.chi_square
        ),
    };
    let _ = writeln!(out, "  {}/s on average for {length}, {steps}", plain(fit.mean_per_s, 3));
    let _ = writeln!(out, "  arrivals: {}", arrivals(&fit.law));
    for DispersionFit { window_ns, windows, recorded, fitted } in &fit.dispersion {
        let window = format::plain(&format::moment(*window_ns));
        let _ = writeln!(
            out,
            "  index of dispersion in {}: recorded {recorded:.2}, fitted {fitted:.2}{}",
            format::plain(&format!("{} windows of {window}", format::count(*windows))),
            if (fitted / recorded.max(0.01)).ln().abs() > 0.4 && (fitted - recorded).abs() > 0.2 {
                " (does not fit)"
            } else {
                ""
            }
        );
    }
    if fit.dispersion.is_empty() {
        out += "  too short to say how arrivals lie around the rate: poisson is a guess\n";
    }
    out
}

fn head(fit: &Fit, source: &str) -> String {
    let requests = format::plain(&format::plural(fit.requests, "request", "requests"));
    let mut out = format!("{requests} of {source}, from {} on\n", fit.header.start);
    if fit.without_path > 0 {
        let _ = writeln!(
            out,
            "{} without a path (CONNECT, OPTIONS *) are left out",
            format::plain(&format::count(fit.without_path))
        );
    }
    for finding in &fit.counts.findings {
        let _ = writeln!(out, "note: {}", finding.sentence());
    }
    out
}

fn share(count: u64, all: u64) -> String {
    format!("{:6.2} %", count as f64 / all as f64 * 100.0)
}

/// How far a law is from `count` values.
fn distance_words(distance: f64, count: u64) -> String {
    let fits = if distance > DISTANCE_MAX { ", does not fit well" } else { "" };
    format!("KS distance {distance:.3}, n = {}{fits}", format::plain(&format::count(count)))
}

fn key_law(fit: &KeyFit) -> String {
    match fit.law {
        Some(KeyLaw::Zipf(s)) => format!("zipf({}, s={})", fit.keys, plain(s.max(0.001), 3)),
        Some(KeyLaw::Uniform) | None => format!("uniform({})", fit.keys.max(1)),
    }
}

fn key_words(fit: &KeyFit) -> String {
    let seen = format::plain(&format!("{} seen", format::plural(fit.seen, "key", "keys")));
    let Some(distance) = fit.distance else {
        return format!("{}, {seen}: too few to fit a law (n = {})", key_law(fit), fit.draws);
    };
    let open = if fit.is_open { "; there may be any number more" } else { "" };
    format!("{}, {seen}{open} ({})", key_law(fit), distance_words(distance, fit.draws))
}

fn size_law(fit: &SizeFit, file: impl FnOnce() -> String) -> String {
    if fit.is_constant() || plain(fit.sigma, 3) == "0" {
        return format!("constant({})", fit.median.round() as u64);
    }
    if fit.distance > DISTANCE_MAX {
        return format!("histogram({})", file());
    }
    format!("lognormal({}, {}, max={})", fit.median.round().max(1.0), plain(fit.sigma, 3), fit.max)
}

fn size_words(what: &str, fit: &SizeFit) -> String {
    let n = fit.count - fit.empty;
    let empty = match fit.empty {
        0 => String::new(),
        empty => format::plain(&format!("; {} were empty", format::count(empty))),
    };
    if fit.is_constant() {
        return format::plain(&format!("{what} of {} bytes, all of {}{empty}", fit.min, format::count(n)));
    }
    format!(
        "{what} lognormal with a median of {} bytes and sigma {} ({}){empty}",
        fit.median.round(),
        plain(fit.sigma, 3),
        distance_words(fit.distance, n)
    )
}

fn operation_words(operation: &Operation) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(operation.answers.as_ref().map(|fit| size_words("answers", fit)));
    all.extend(operation.sizes.as_ref().map(|fit| size_words("requests", fit)));
    if operation.failed > 0 {
        all.push(format!(
            "{} were answered with 4xx or 5xx",
            share(operation.failed, operation.count).trim()
        ));
    }
    if operation.with_query > 0 {
        all.push(format!("{} had a query", share(operation.with_query, operation.count).trim()));
    }
    all
}

fn request(operation: &Operation, keys: &[String], largest: u64, out: &mut String) {
    let mut path = String::new();
    let mut numbers = operation.keys.iter();
    for (place, part) in operation.path.split("{id}").enumerate() {
        if place > 0 {
            // Where there were too many places, a number stands for all ids.
            let name = numbers.next().copied().flatten().and_then(|number| keys.get(number));
            let _ = match name {
                Some(name) => write!(path, "{{{{{name}}}}}"),
                None => write!(path, "1"),
            };
        }
        path += part;
    }
    // Weights are whole numbers of 32 bits.
    let scale = (largest >> 31) + 1;
    let _ = write!(out, "\n[[requests]]\nweight = {}\n", (operation.count / scale).max(1));
    let _ = writeln!(out, "name = \"{} {}\"", operation.method, operation.path);
    let _ = writeln!(out, "url = \"{path}\"");
    if operation.method != "GET" {
        let _ = writeln!(out, "method = \"{}\"", operation.method);
    }
}

fn not_fitted(fit: &Fit) -> Vec<String> {
    let mut all = Vec::new();
    let users =
        fit.users.map(|users| format::plain(&format!(" of {}", format::plural(users, "user", "users"))));
    all.push(match users {
        Some(users) => format!(
            "think times and journeys{users}: which request followed from which answer is not in a log, so \
             each request comes by itself"
        ),
        None => "think times and journeys: the record does not tell users apart".into(),
    });
    all.push("queries, headers, credentials and the content of bodies: a record does not have them".into());
    if fit.operations.iter().any(|one| one.sizes.is_some()) {
        all.push("sizes of requests are those of the record, which may count their heads; bodies are random letters".into());
    }
    if fit.operations.iter().any(|one| one.keys.len() > 1) {
        all.push("which ids of a path with several come together: each is drawn by itself".into());
    }
    if fit.operations.iter().any(|one| !matches!(&*one.method, "GET" | "HEAD" | "OPTIONS")) {
        all.push(
            "safety: requests other than GET, HEAD and OPTIONS may change something at the target".into(),
        );
    }
    all
}
