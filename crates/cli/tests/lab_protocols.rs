//! The lab over gRPC, event streams and WebSocket, whose servers are other people's crates and share nothing with the client:
//! what is reported of a stall of a second agrees with what the server did, request by request.

use crate::support::lab::Lab;
use crate::support::{Place, Run};
use rustix::process::{Resource, getrlimit};
use unblink_lab::{TruthRow, read_truth};

const MS: u64 = 1_000_000;
/// Requests of each run: 4 s at 1,000/s, with a stall of a second in it.
const REQUESTS: u64 = 4_000;
const STALL: [&str; 8] =
    ["--scenario", "healthy", "--stall-at", "2s", "--stall-for", "1s", "--truth", "truth.csv"];

/// A run against the lab's stall, and what the server says of it.
fn run(serve: &[&str], client: &[&str]) -> (Run, Vec<TruthRow>) {
    let place = Place::new();
    let mut lab = Lab::serve(&place, &[&STALL[..], serve].concat());
    let load = [&lab.url[..], "-R", "1000", "-n", "4000", "--no-preflight"];
    let run = place.measure(&[&load[..], client].concat());
    lab.stop();
    (run, read_truth(place.path().join("truth.csv")).expect("a truth log"))
}

/// The value at `q` of these times, in ns.
fn at(mut times_ns: Vec<u64>, q: f64) -> u64 {
    times_ns.sort_unstable();
    times_ns[(q * times_ns.len() as f64) as usize - 1]
}

/// When each request would have been answered had it come when the schedule says: arrivals are numbered in order, so the k-th
/// one of the log belongs to k ms after the first.
fn by_schedule(rows: &[TruthRow], answered: impl Fn(&TruthRow) -> u64) -> Vec<u64> {
    let mut rows: Vec<&TruthRow> = rows.iter().collect();
    rows.sort_by_key(|row| row.request);
    let zero_ns = rows.iter().enumerate().map(|(k, row)| row.arrived_ns - k as u64 * MS).min().expect("rows");
    rows.iter().enumerate().map(|(k, row)| answered(row) - zero_ns - k as u64 * MS).collect()
}

/// p99 within 1 % or 1 ms of the times at which the server answered, counted from the schedule; above it, also within the longest
/// pause that the client confesses.
#[track_caller]
fn check(run: &Run, rows: &[TruthRow], series: &str, answered: impl Fn(&TruthRow) -> u64) {
    run.assert_all("ok");
    assert_eq!(rows.len() as u64, REQUESTS);
    let truth_ns = at(by_schedule(rows, answered), 0.99);
    let (reported_ns, censored) = run.quantile(series, 0.99);
    assert!(truth_ns > 900 * MS && !censored, "the stall is in it: {truth_ns}");
    let near_ns = MS.max(truth_ns / 100);
    // On a busy machine the client reads answers late, and says so.
    let paused_ns = run.count("/generator/pause_max_ns");
    let all = [reported_ns, truth_ns, paused_ns];
    assert!(reported_ns + near_ns >= truth_ns && reported_ns <= truth_ns + near_ns + paused_ns, "{all:?}");
}

const SAY: [&str; 2] = ["--data", r#"{"text":"hello"}"#];
const NAMED: [&str; 4] = ["--message", r#"{"id":"{{index}}"}"#, "--match", "json $.id"];
/// As many at once as the lab takes.
const ONE_CONNECTION: [&str; 4] = ["-c", "1", "--streams", "1000"];

#[track_caller]
fn is_on_one_connection(rows: &[TruthRow]) {
    assert!(rows.iter().all(|row| row.connection == rows[0].connection));
}

#[test]
fn a_stall_over_grpc_with_types_by_reflection() {
    let (run, rows) = run(&["--grpc"], &SAY);
    check(&run, &rows, "response_time", |row| row.answered_ns);
}

#[test]
fn calls_go_over_tls() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--grpc", "--tls", "--write-cert", "lab.pem"]);
    assert!(lab.url.starts_with("grpcs://"), "{}", lab.url);
    let load = [&lab.url, "-R", "100", "-n", "20", "--cacert", "lab.pem"];
    let run = place.measure(&[&load[..], &SAY].concat());
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 20);
}

#[test]
fn a_stall_over_one_connection_of_grpc() {
    let (run, rows) = run(&["--grpc"], &[&SAY[..], &ONE_CONNECTION].concat());
    check(&run, &rows, "response_time", |row| row.answered_ns);
    is_on_one_connection(&rows);
}

#[test]
fn a_stall_over_one_connection_of_http_2() {
    let (run, rows) = run(&["--http", "2"], &[&["--http", "2"][..], &ONE_CONNECTION].concat());
    check(&run, &rows, "response_time", |row| row.answered_ns);
    is_on_one_connection(&rows);
}

#[test]
fn a_stall_over_100_web_sockets() {
    let (run, rows) = run(&["--ws"], &[&NAMED[..], &["-c", "100", "--depth", "64"]].concat());
    check(&run, &rows, "response_time", |row| row.answered_ns);
    assert_eq!(rows.iter().map(|row| row.connection).collect::<std::collections::BTreeSet<_>>().len(), 100);
}

#[test]
fn a_stall_over_one_web_socket() {
    let (run, rows) = run(&["--ws"], &[&NAMED[..], &["-c", "1", "--depth", "64"]].concat());
    check(&run, &rows, "response_time", |row| row.answered_ns);
    is_on_one_connection(&rows);
}

/// All of them are opened before the load and held to its end, whichever of them the messages go over.
#[test]
fn fifteen_thousand_web_sockets_are_held() {
    // Each takes a descriptor here and one there. A machine may allow fewer.
    let allowed = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let held = 15_000.min(allowed.saturating_sub(200));
    assert!(held >= 3_000, "{allowed} descriptors are too few to prove anything: ulimit -Hn");
    let place = Place::new();
    let mut lab =
        Lab::serve(&place, &["--scenario", "healthy", "--made-for", "60s", "--ws", "--truth", "truth.csv"]);
    let sockets = held.to_string();
    let load = [&lab.url[..], "-R", "500", "-n", "1500", "--no-preflight", "-c", &sockets];
    let run = place.measure(&[&load[..], &NAMED].concat());
    lab.stop();
    run.assert_all("ok");
    assert_eq!([run.arrivals("ok"), run.connections("opened"), run.connections("failed")], [1_500, held, 0]);
    assert_eq!(run.count("/origins/0/connections/peak"), held);
    let rows = read_truth(place.path().join("truth.csv")).expect("a truth log");
    assert_eq!(rows.len(), 1_500);
}

/// Events whose times are in the log, of which the stall froze some amid their answers.
#[track_caller]
fn check_events(run: &Run, rows: &[TruthRow]) {
    check(run, rows, "events/first", |row| row.events_ns[0]);
    check(run, rows, "response_time", |row| row.answered_ns);
    assert!(rows.iter().all(|row| row.events_ns.len() == 3 && row.events_ns[2] == row.answered_ns));
    assert_eq!(run.count("/events/events"), 3 * REQUESTS);
    let gaps_ns = rows.iter().flat_map(|row| row.events_ns.windows(2).map(|pair| pair[1] - pair[0]));
    let longest_ns = gaps_ns.max().expect("gaps");
    let reported_ns = run.count("/events/gap/max");
    assert!(
        longest_ns > 900 * MS
            && reported_ns.abs_diff(longest_ns) <= longest_ns / 20 + run.count("/generator/pause_max_ns"),
        "{longest_ns} {reported_ns}"
    );
}

#[test]
fn a_stall_amid_event_streams_over_both_versions_of_http() {
    for version in [&[][..], &["--http", "2"]] {
        let serve = [version, &["--events", "3"]].concat();
        let (run, rows) = run(&serve, &[version, &["--stream", "sse"]].concat());
        check_events(&run, &rows);
    }
}

#[test]
fn a_stall_amid_streams_of_grpc_messages() {
    let place = Place::new();
    let mut lab = Lab::serve(&place, &[&STALL[..], &["--grpc", "--events", "3"]].concat());
    let url = lab.url.replace("Say", "Watch");
    let load = [&url[..], "-R", "1000", "-n", "4000", "--no-preflight", "--stream", "messages"];
    let run = place.measure(&[&load[..], &SAY].concat());
    lab.stop();
    check_events(&run, &read_truth(place.path().join("truth.csv")).expect("a truth log"));
}

#[test]
fn a_failing_call_has_a_status_of_its_own() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--grpc", "--scenario", "errors", "--made-for", "2s"]);
    let args = [&lab.url[..], "-R", "200", "-n", "200", "--no-preflight"];
    let run = place.measure(&[&args[..], &SAY].concat());
    // The scenario's first failures begin after a fifteenth of a second and last for three fifths of the time.
    assert!(run.arrivals("failed") > 50, "{run:?}");
    assert_eq!(run.failures("grpc_internal"), run.arrivals("failed"));
}

#[test]
fn what_a_protocol_lacks_is_refused() {
    let place = Place::new();
    let serve =
        |args: &[&str]| place.call(&[&["lab", "serve", "--listen", "127.0.0.1:0"][..], args].concat());
    serve(&["--grpc", "--scenario", "accept"]).refused(&["accept", "HTTP/1.1"]);
    serve(&["--ws", "--scenario", "errors"]).refused(&["errors", "status"]);
    serve(&["--ws", "--events", "3"]).refused(&["--ws", "--events"]);
    serve(&["--events", "10001"]).refused(&["10000", "events"]);
    serve(&["--event-gap", "1s"]).refused(&["--events"]);
}
