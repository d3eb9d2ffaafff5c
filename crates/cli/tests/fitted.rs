//! `init --from`: a plan fitted to a log or a trace.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, ok};
use std::fmt::Write;

/// Numbers that are the same on each machine (splitmix64).
struct Seeded(u64);

impl Seeded {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

const FORMAT: &str =
    r#"$remote_addr [$msec] "$request" $status $body_bytes_sent $request_length $request_time"#;

/// Independent arrivals, 100/s for 300 s: 70 % items by Zipf's law, 20 % the cart, 10 % orders that have lognormal sizes.
fn log() -> String {
    let mut random = Seeded(11);
    let ends: Vec<f64> = (1..=500u32)
        .scan(0.0, |sum, k| {
            *sum += f64::from(k).powf(-0.9);
            Some(*sum)
        })
        .collect();
    let (mut at, mut log) = (1_769_860_800.0, String::new());
    while at < 1_769_861_100.0 {
        at += -random.uniform().ln() / 100.0;
        let kind = random.uniform();
        let key = random.uniform() * ends[499];
        let normal = (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos();
        let (request, size) = match kind {
            _ if kind < 0.7 => {
                (format!("GET /items/{}?q=x", 7_000 + ends.partition_point(|end| *end < key)), 80.0)
            }
            _ if kind < 0.9 => ("GET /cart".to_string(), 80.0),
            _ => ("POST /orders".to_string(), 900.0 * (0.5 * normal).exp()),
        };
        let user = random.uniform() * 250.0;
        writeln!(
            log,
            "10.0.0.{} [{at:.3}] \"{request} HTTP/1.1\" 200 612 {} 0.000",
            user as u32,
            size.round()
        )
        .unwrap();
    }
    log
}

/// The number behind a text.
fn number(text: &str, before: &str) -> f64 {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{before:?} is not in {text}"));
    let digits = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect::<String>();
    digits.parse().unwrap_or_else(|_| panic!("{before:?} has no number in {text}"))
}

#[test]
fn a_plan_has_the_laws_of_its_log_and_runs() {
    let place = Place::new();
    place.file("access.log", log());
    let from =
        ["init", "--from", "access.log", "--format", "nginx", "--log-format", FORMAT, "-o", "shop.toml"];
    let called = place.call(&from);
    assert_eq!(called.code(), Some(0), "{}", called.stderr);
    let plan = place.text("shop.toml");
    let rate = number(&plan, "\nrate = \"");
    assert!((rate / 100.0 - 1.0).abs() < 0.02, "{rate}");
    assert!(plan.contains("\narrivals = \"poisson\"\n") && plan.contains("\nduration = \"300"), "{plan}");
    let (keys, s) = (number(&plan, "items_id = \"zipf("), number(&plan, ", s="));
    assert!((keys / 500.0 - 1.0).abs() < 0.1 && (s - 0.9).abs() < 0.05, "{keys} {s}");
    let (median, sigma) = (
        number(&plan, "post_orders_size = \"lognormal("),
        number(plan.split("lognormal(").last().unwrap(), ", "),
    );
    assert!((median / 900.0 - 1.0).abs() < 0.05 && (sigma - 0.5).abs() < 0.03, "{median} {sigma}");
    assert!(
        plan.contains("url = \"/items/{{items_id}}\"")
            && plan.contains("body = \"{{bytes(post_orders_size)}}\"")
    );
    for part in ["KS distance 0.0", "n = ", "index of dispersion", "think times and journeys", "had a query"]
    {
        assert!(plan.contains(part), "{part} is not in {plan}");
        assert!(called.stdout.contains(part), "{part} is not in {}", called.stdout);
    }
    let items = number(&called.stdout, "Requests\n   ");
    assert!((items - 70.0).abs() < 1.0, "{items}");
    let checked = place.call(&["plan", "check", "shop.toml"]);
    assert_eq!(checked.code(), Some(0), "{}", checked.stderr);
    let server = Hostile::start(|_| Act::Answer(ok()));
    let run = place.measure(&["shop.toml", &server.url(), "-d", "2s"]);
    run.assert_all("ok");
    let seen = server.seen();
    assert!(seen.iter().any(|request| request.method == "POST" && request.target == "/orders"));
    assert!(seen.iter().any(|request| request.target.starts_with("/items/")));
    // The same from a trace, but for what it is called.
    let import = ["import", "access.log", "--format", "nginx", "--log-format", FORMAT, "-o", "hour.trace"];
    assert_eq!(place.call(&import).code(), Some(0));
    assert_eq!(place.call(&["init", "--from", "hour.trace", "again.toml"]).code(), Some(0));
    let again = place.text("again.toml");
    let fields =
        |plan: &str| plan.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(fields(&again), fields(&plan));
}

#[test]
fn sizes_that_follow_no_law_become_a_file_beside_the_plan() {
    let place = Place::new();
    let line = |k: u64| {
        let size = if k.is_multiple_of(2) { 100 } else { 90_000 };
        format!("1.1.1.1 [1769860800.{:03}] \"PUT /files/{} HTTP/1.1\" 200 0 {size} 0.000\n", k, k % 5)
    };
    place.file("access.log", (0..1_000).map(line).collect::<String>());
    let from = ["init", "--from", "access.log", "--format", "nginx", "--log-format", FORMAT, "p.toml"];
    let called = place.call(&from);
    assert_eq!(called.code(), Some(0), "{}", called.stderr);
    let sizes = place.text("p-put_files_size.csv");
    assert_eq!(sizes.lines().count(), 2, "{sizes}");
    assert!(
        called.stdout.contains("does not fit well") && called.stdout.contains("uniform(5)"),
        "{}",
        called.stdout
    );
    let checked = place.call(&["plan", "check", "p.toml"]);
    assert_eq!(checked.code(), Some(0), "{}", checked.stderr);
    // Nothing that is there is written over.
    place.call(&from).refused(&["p.toml", "exists"]);
}

#[test]
fn the_format_of_a_log_is_known_or_asked_for() {
    let place = Place::new();
    let line = "1.1.1.1 - - [31/Jan/2026:12:00:00 +0000] \"GET /a/17 HTTP/1.1\" 200 5";
    place.file("common.log", format!("{line}\n{line}\n"));
    place.file("combined.log", format!("{line} \"-\" \"curl\"\n"));
    place.file("lines.json", "{\"a\":1}\n");
    place.file("other.log", "hello\n");
    place.file("empty.log", "");
    for (log, name) in [("common.log", "--format common"), ("combined.log", "--format combined")] {
        let called = place.call(&["init", "--from", log, "-o", &format!("{log}.toml")]);
        assert!(called.code() == Some(0) && called.stderr.contains(name), "{}", called.stderr);
        assert_eq!(place.call(&["plan", "check", &format!("{log}.toml")]).code(), Some(0));
    }
    let refused = |args: &[&str], parts: &[&str]| {
        place.call(&[&["init", "-o", "x.toml"], args].concat()).refused(parts);
        assert!(!place.path().join("x.toml").exists());
    };
    refused(&["--from", "lines.json"], &["lines.json", "--format json", "--map"]);
    refused(&["--from", "other.log"], &["other.log", "--log-format"]);
    refused(&["--from", "empty.log"], &["empty.log: the log is empty"]);
    refused(&["--from", "absent.log"], &["absent.log"]);
    refused(&["--from", "-"], &["--format"]);
    refused(&["--map", "user=x"], &["--from LOG"]);
    refused(&["--format", "nginx"], &["--from"]);
    // The line that could not be read comes first.
    let other = place.call(&["init", "-o", "x.toml", "--from", "other.log", "--format", "combined"]);
    assert!(
        other.code() == Some(2) && other.stderr.contains("no request could be read in 1 line"),
        "{other:?}"
    );
}
