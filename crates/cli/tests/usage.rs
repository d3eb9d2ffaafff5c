//! Wrong input: each has a message of its own, exit code 2, and nothing on stdout.

use crate::support::hostile::{Act, Hostile, ok};
use crate::support::{Place, Said, finish};
use std::path::Path;

/// Nothing here is ever connected to: the refusal comes first.
const URL: &str = "http://127.0.0.1:9/";

fn run(args: &[&str]) -> Said {
    let place = Place::new();
    let said = place.call(&[&["run"], args].concat());
    assert_eq!(place.list("."), [""; 0], "a refused run leaves nothing behind");
    said
}

/// One sentence: nothing is said twice.
#[test]
fn causes_are_not_repeated() {
    let said = Place::new().call(&["run", URL, "-R", "10"]);
    assert_eq!(said.code(), Some(1), "nobody answers: {said:?}");
    assert!(said.stderr.contains("can't connect to 127.0.0.1:9: Connection refused"), "{said:?}");
    assert_eq!(said.stderr.matches("Connection refused").count(), 1, "{said:?}");
    let said = run(&["http://name.invalid/", "-R", "1"]);
    assert_eq!(said.stderr.matches("failed to lookup").count(), 1, "{said:?}");
}

/// What no such run can tell is known before anything is sent for it.
#[test]
fn objectives_that_no_run_can_tell() {
    let rate = ["Closed users offer no rate", "500/s"];
    let closed = |more: &[&str]| run(&[&[URL, "--closed", "2"], more].concat());
    closed(&["--slo", "achieved >= 90%"]).refused(&[&rate[..], &["--slo \"achieved >= 90%\""]].concat());
    closed(&["--abort-on", "achieved < 90% for 2s"]).refused(&[&rate[..], &["--abort-on"]].concat());
    let windows = ["--slo", "p99 < 1s in 80% of 60s"];
    let said = ["no window of 60 s", "the 5 s that are measured", "-d"];
    run(&[&[URL, "-R", "10", "-d", "5s"], &windows[..]].concat()).refused(&said);
    let sim = ["sim", "--server", "service=1ms", "-d", "5s"];
    let place = Place::new();
    place.call(&[&sim[..], &["-R", "10"], &windows].concat()).refused(&said);
    place.call(&[&sim[..], &["--closed", "2", "--slo", "achieved >= 90%"]].concat()).refused(&rate);
    let plan = format!("target = {URL:?}\n[load]\nclosed = 2\n[objectives]\nslo = [\"achieved >= 90%\"]\n");
    place.file("plan.toml", plan);
    for args in [&["plan", "check", "plan.toml"][..], &["run", "plan.toml"]] {
        place.call(args).refused(&[&rate[..], &["plan.toml:5:"]].concat());
    }
}

/// `unblink run URL -R 10 ARGS`.
fn with(args: &[&str]) -> Said {
    run(&[&[URL, "-R", "10"], args].concat())
}

#[test]
fn urls() {
    let load = ["-R", "10"];
    for (url, parts) in [
        ("http://", &["http://", "not a URL"][..]),
        ("", &["not a URL"]),
        ("http://a b/", &["http://a ***", "not a URL"]),
        ("localhost:8080", &["scheme"]),
        ("/path", &["is a path", "scheme", "such as http://"]),
        ("/tmp", &["is a folder, not a URL", "such as http://"]),
        ("//h:80/a", &["write http://h:80/a or https://h:80/a"]),
        ("http://a.u:12/s@name.invalid/", &["a.u", "percent-encode"]),
        ("ftp://localhost/", &["\"ftp\"", "only http, https, ws"]),
        ("http://localhost:99999/", &["99999", "65535"]),
        ("http://localhost:0/", &["port 0", "give one from 1 to 65535"]),
        ("http://name.invalid/", &["can't resolve", "name.invalid"]),
    ] {
        run(&[&[url], &load[..]].concat()).refused(parts);
    }
    // A password must not end up in the log of whoever mistyped the rest.
    for url in ["http://me:s3cret@h:99999/", "me:s3cret@h", "http://me:s3 cret@h/", "ftp://me:s3cret@h/"] {
        let said = run(&[&[url], &load[..]].concat());
        said.refused(&["***@h"]);
        assert!(!said.stderr.contains("s3"), "{said:?}");
    }
    run(&load).refused(&["URL", "--targets"]);
}

#[test]
fn rates() {
    for (rate, part) in [
        ("0", "the rate is 0"),
        ("0/s", "the rate is 0"),
        ("-5", "\"-5\" is negative"),
        ("nan", "\"nan\" is not a number"),
        ("inf", "no rate is infinite"),
        ("infinity", "no rate is infinite"),
        ("1e3", "\"1e3\" is not a rate"),
        ("fast", "\"fast\" is not a rate"),
        ("5/fortnight", "fortnight"),
        ("100000001", "100000000/s"),
        ("0.00001", "lowest possible rate"),
        ("0..0", "the rate is 0 throughout"),
        ("0,0", "the rate is 0 throughout"),
        ("1..", "\"1..\" is not a rate"),
    ] {
        run(&[URL, "-R", rate]).refused(&[part]);
        run(&[URL, &format!("--rate={rate}")]).refused(&[part]);
    }
}

#[test]
fn lengths() {
    with(&["-d", "0"]).refused(&["the duration is 0"]);
    with(&["-d", "0s"]).refused(&["the duration is 0", "such as -d 30s"]);
    with(&["-d", "-5s"]).refused(&["\"-5s\" is not a time"]);
    with(&["-d", "nan"]).refused(&["\"nan\" is not a time"]);
    with(&["-d", "5 apples"]).refused(&["is not a time"]);
    with(&["-d", "169h"]).refused(&["169 h is too long", "at one rate lasts at most 7 d"]);
    run(&[URL, "-R", "1..2", "-d", "25h"]).refused(&["25 h is too long", "a ramp lasts at most 24 h"]);
    run(&[URL, "--closed", "1", "-d", "8d"]).refused(&["8 d is too long", "a closed load lasts at most 7 d"]);
    with(&["--warmup", "25h"]).refused(&["24 h"]);
    with(&["-n", "0"]).refused(&["0 would do nothing"]);
    with(&["-n", "-1"]).refused(&["\"-1\" is not a whole number"]);
    with(&["--timeout", "0"]).refused(&["the timeout is 0", "such as --timeout 30s"]);
    with(&["--timeout", "61m"]).refused(&["1 h 1 min is longer"]);
    run(&[URL, "-R", "1/m", "-n", "20000"]).refused(&[
        "-n 20000",
        "333 h 20 min",
        "168 h",
        "lower -n to 10080",
    ]);
    run(&[URL, "-R", "10..20", "-n", "5"]).refused(&["a ramp or steps need a length", "-d"]);
    run(&[URL, "-R", "10,20", "-n", "5"]).refused(&["a ramp or steps need a length", "-d"]);
}

#[test]
fn load_models() {
    run(&[URL]).refused(&["-R RATE", "--closed USERS"]);
    run(&[URL, "-R", "10", "--closed", "5"]).refused(&["-R and --closed exclude each other"]);
    run(&[URL, "-R", "10", "--think", "1s"]).refused(&["--think is for users who wait", "leave --think out"]);
    let precise = |more: &[&str]| run(&[&[URL, "-R", "10"], more].concat());
    precise(&["--max-duration", "1m"]).refused(&["--max-duration belong to --precision", "--precision 5%"]);
    let least = ["45 s", "confirms", "for at least 61 s"];
    precise(&["--precision", "5%", "--max-duration", "45s"]).refused(&least);
    precise(&["--precision-of", "p50"]).refused(&["--precision-of", "belong to --precision"]);
    let secure = |more: &[&str]| run(&[&["https://localhost/", "-R", "10"], more].concat());
    secure(&["--cert", "a.pem"]).refused(&["--cert needs", "--key FILE"]);
    secure(&["--key", "a.pem"]).refused(&["--key needs", "--cert FILE"]);
    secure(&["-k", "--cacert", "a.pem"]).refused(&["-k accepts any certificate", "leave one of them out"]);
    for (one, other) in [
        (["--body", "x"], ["--body-file", "x"]),
        (["--unix-socket", "x"], ["--connect-to", "a:1:b:2"]),
        (["--precision", "5%"], ["-n", "10"]),
    ] {
        precise(&[one, other].concat()).refused(&[one[0], "exclude each other: leave one of them out"]);
    }
    run(&[URL, "-R", "10", "--ramp-up", "1s"]).refused(&["--ramp-up is for users who wait", "-R 0..100"]);
    run(&[URL, "--closed", "5", "--ramp-up", "25h"]).refused(&["25 h is too long", "24 h"]);
    run(&[URL, "--closed", "99999999999"]).refused(&["more users than there can be: give at most 1000000"]);
    with(&["-t", "300"]).refused(&["more threads than there can be: give at most 256"]);
    run(&[URL, "--closed", "0"]).refused(&["0 would do nothing"]);
    run(&[URL, "--closed", "5", "-d", "0"]).refused(&["the duration is 0"]);
    run(&[URL, "--closed", "2", "-t", "3"]).refused(&["2 users", "3 threads"]);
    run(&[URL, "--closed", "2", "--arrivals", "poisson"]).refused(&["--arrivals poisson needs a rate"]);
    with(&["--think", "1s"]).refused(&["--closed"]);
    with(&["--arrivals", "clumped"]).refused(&["clumped", "even", "poisson", "bursty"]);
    with(&["--seed", "x"]).refused(&["--seed"]);
}

#[test]
fn connections_and_threads() {
    with(&["-c", "1", "-t", "2"]).refused(&["1 connection can't be shared by 2 threads", "-c", "-t"]);
    with(&["-c", "auto:1", "-t", "2"]).refused(&["1 connection can't be shared by 2 threads"]);
    with(&["-c", "0"]).refused(&["\"0\" is not a number of connections"]);
    with(&["-c", "some"]).refused(&["\"some\" is not a number of connections", "auto"]);
    with(&["-t", "0"]).refused(&["0 would do nothing"]);
}

#[test]
fn more_connections_than_descriptors() {
    let place = Place::new();
    for connections in ["193", "auto:193", "5000"] {
        let args = ["run", URL, "-R", "10", "-c", connections];
        let said = finish(&mut place.shell("ulimit -n 256", &args));
        said.refused(&["file descriptors", "256", "ulimit -Hn", "192"]);
    }
    // What fits is not refused for it.
    let args = ["run", URL, "-R", "10", "-c", "192", "--no-preflight", "-d", "0"];
    finish(&mut place.shell("ulimit -n 256", &args)).refused(&["the duration is 0"]);
    with(&["-c", "70000"]).refused(&["70000 connections need more"]);
}

/// `auto` stays below what there is, so that no arrival fails for want of a descriptor.
#[test]
fn few_descriptors_limit_auto() {
    let server = Hostile::start(|_| Act::AnswerAfter(std::time::Duration::from_millis(200), ok()));
    let (place, url) = (Place::new(), server.url());
    let args = ["run", &url, "-R", "400", "-d", "500ms", "--json", "-o", "out", "--no-preflight"];
    let run = finish(&mut place.shell("ulimit -n 96", &args)).run();
    run.assert_all("ok");
    assert_eq!(run.count("/environment/file_descriptors_max"), 96);
    assert_eq!((run.connections("limit"), run.connections("peak")), (32, 32));
}

#[test]
fn headers_methods_and_bodies() {
    for header in ["No colon", "Bad name: x", ": empty name", "X: a\r\nInjected: b", "X: a\nb", "X\n: a"] {
        with(&["-H", header]).refused(&["-H"]);
        with(&[&format!("--header={header}")]).refused(&["-H"]);
    }
    with(&["-H", "No colon"]).refused(&["has no colon", "Name: value"]);
    with(&["-H", "X: a\r\nInjected: b"]).refused(&["header X", "carriage return"]);
    with(&["-H", "X: a\nb"]).refused(&["header X", "line break"]);
    with(&["-H", "Host: a", "-H", "Host: b"]).refused(&["Host", "more than once"]);
    with(&["-H", "Content-Length: 5"]).refused(&["Content-Length", "0 bytes"]);
    for method in ["", "GE T", "GET\r\n", "G(T", "GÉT"] {
        with(&["-X", method]).refused(&["method", "is not valid"]);
    }
    with(&["-X", "CONNECT"]).refused(&["CONNECT"]);
    // What is echoed can't forge a line or move the cursor.
    for (flag, value) in
        [("-X", "GET\r\nerror: none\u{1b}[2J"), ("-d", "5\u{1b}[2J\nx"), ("--seed", "1\u{7}\u{1b}[31m")]
    {
        let said = with(&[flag, value]);
        // What it shows of control characters is escaped, or left out by the parser.
        assert!(said.stderr.contains("\\u{") || flag == "--seed", "{said:?}");
        said.refused(&[]);
        assert!(
            !said.stderr.contains(['\u{1b}', '\r']) && !said.stderr.contains("\nerror: none"),
            "{said:?}"
        );
    }
    with(&["--body-file", "nowhere/body.json"]).refused(&["body file", "nowhere/body.json", "No such file"]);
    with(&["--body-file", "."]).refused(&["body file", "directory"]);
    with(&["--body", "a", "--body-file", "b"]).refused(&["--body", "--body-file"]);
}

#[test]
fn target_files_name_file_and_line() {
    let good = "GET http://127.0.0.1:9/a\n";
    for (bad, parts) in [
        ("nonsense", &["not a target"][..]),
        ("GET", &["not a target"]),
        ("GET not-a-url", &["no URL"]),
        ("GET ftp://127.0.0.1/", &["only http, https, ws"]),
        ("G(T http://127.0.0.1:9/", &["method", "is not valid"]),
        ("get@ http://127.0.0.1:9/", &["method", "is not valid"]),
        ("CONNECT http://127.0.0.1:9/", &["CONNECT"]),
    ] {
        let place = Place::new();
        place.file("t.txt", format!("{good}\n# a comment\n{bad}\n"));
        let said = place.call(&["run", "--targets", "t.txt", "-R", "10"]);
        said.refused(&[&["t.txt:4"], parts].concat());
    }
    for (bad, parts) in [
        ("no colon", &["has no colon"][..]),
        ("Bad name: x", &["header name"]),
        ("X: a\rb", &["header X"]),
        ("@nowhere", &["body file", "nowhere"]),
        ("@body\n@body", &["t.txt:3", "a body already"]),
        ("Host: a\nHost: b", &["more than once"]),
    ] {
        let place = Place::new();
        place.file("body", "x");
        place.file("t.txt", format!("{good}{bad}\n"));
        place.call(&["run", "--targets", "t.txt", "-R", "10"]).refused(&[&["t.txt:"], parts].concat());
    }
    let place = Place::new();
    place.file("empty.txt", "# nothing\n\n");
    place.call(&["run", "--targets", "empty.txt", "-R", "10"]).refused(&["empty.txt", "no target"]);
    place.call(&["run", "--targets", "none.txt", "-R", "10"]).refused(&["none.txt", "No such file"]);
    place.call(&["run", URL, "--targets", "empty.txt", "-R", "10"]).refused(&["--targets"]);
    let nine: String = (1..=9).map(|port| format!("GET http://127.0.0.1:{port}/\n")).collect();
    place.file("nine.txt", nine);
    let many = place.call(&["run", "--targets", "nine.txt", "-R", "10"]);
    many.refused(&["nine.txt:9: ", "127.0.0.1:9", "at most 8"]);
    place.file("latin.txt", b"GET http://127.0.0.1:9/a\nGET http://127.0.0.1:9/caf\xe9\n");
    place.call(&["run", "--targets", "latin.txt", "-R", "10"]).refused(&["latin.txt:2: ", "UTF-8"]);
}

#[test]
fn output_folders() {
    let place = Place::new();
    let file = place.file("file", "x");
    place.file("full/of.things", "x");
    let on = |folder: &str| place.call(&["run", URL, "-R", "10", "-o", folder]);
    on("full").refused(&["full", "not empty", "-o"]);
    on("file").refused(&["file", "-o"]);
    on("file/below").refused(&["file/below", "-o"]);
    // A place where not even root may write.
    on("/proc/unblink").refused(&["/proc/unblink", "-o"]);
    assert_eq!(std::fs::read_to_string(file).expect("still there"), "x");
    assert_eq!(place.list("."), ["file", "full"]);
}

#[test]
fn expectations() {
    for condition in ["", "status", "status=", "status=99", "status=6xx", "status=20x", "size=", "size=9..1"]
    {
        with(&["--expect", condition]).refused(&["is not a condition", "status=200,404"]);
    }
    with(&["--expect", "speed=fast"]).refused(&["\"speed=(4 bytes)\" is not a condition"]);
    with(&["--expect", "contains="]).refused(&["is not a condition"]);
    with(&["--expect", "size=.."]).refused(&["is not a condition"]);
    with(&["--max-body-size", "big"]).refused(&["\"big\" is not a size"]);
}

#[test]
fn caps_on_the_rate() {
    run(&[URL, "-R", "101", "--max-rate", "100"]).refused(&["101/s", "cap of 100/s"]);
    run(&[URL, "-R", "1..101", "-d", "1s", "--max-rate", "100"]).refused(&["cap of 100/s"]);
    run(&[URL, "-R", "1,101,1", "-d", "3s", "--max-rate", "100"]).refused(&["cap of 100/s"]);
    run(&[URL, "-R", "10", "--max-rate", "0"]).refused(&["the rate is 0"]);
    for cap in ["max-rate = 100", "max-rate = \"100/s\"", "max-rate = \"6k/m\""] {
        let place = Place::new();
        place.file("unblink/config.toml", cap);
        let on = |args: &[&str]| place.call(&[&["run", URL], args].concat());
        on(&["-R", "101"]).refused(&["101/s", "cap of 100/s"]);
        // The command line may tighten it, never loosen it.
        on(&["-R", "101", "--max-rate", "1000"]).refused(&["cap of 100/s"]);
        on(&["-R", "51", "--max-rate", "50"]).refused(&["cap of 50/s"]);
        // The file caps what is sent, and a simulation sends nothing.
        let sim = ["sim", "-R", "101", "-d", "1s", "--server", "service=1ms"];
        assert_eq!(place.call(&sim).code(), Some(0));
        place.call(&[&sim[..], &["--max-rate", "100"]].concat()).refused(&["cap of 100/s"]);
    }
}

#[test]
fn the_config_file_itself() {
    for (text, parts) in [
        ("max-rate = [", &["config.toml"][..]),
        ("max-rate = \"fast\"", &["config.toml", "max-rate", "fast"]),
        ("max-rate = true", &["config.toml", "max-rate"]),
        ("max-rate = 0", &["config.toml", "max-rate", "0"]),
        ("max-speed = 5", &["config.toml", "max-speed"]),
    ] {
        let place = Place::new();
        place.file("unblink/config.toml", text);
        place.call(&["run", URL, "-R", "10"]).refused(parts);
    }
    // A broken cap must not be passed over for a closed load either.
    let place = Place::new();
    place.file("unblink/config.toml", "max-rate = [");
    place.call(&["run", URL, "--closed", "1"]).refused(&["config.toml"]);
}

#[test]
fn tls_flags() {
    let place = Place::new();
    let not_pem = place.file("not.pem", "nothing");
    let on = |args: &[&str]| place.call(&[&["run", "https://127.0.0.1:9/", "-R", "10"], args].concat());
    on(&["--cert", "c.pem"]).refused(&["--key"]);
    on(&["--key", "k.pem"]).refused(&["--cert"]);
    on(&["--cacert", "none.pem"]).refused(&["none.pem", "PEM"]);
    on(&["--cacert", not_pem.to_str().expect("UTF-8")]).refused(&["not.pem", "no certificate"]);
    on(&["-k", "--cert", "none.pem", "--key", "none.key"]).refused(&["client certificate", "none.pem"]);
    for flags in [&["-k"][..], &["--cacert", "x.pem"], &["--cert", "c", "--key", "k"]] {
        with(flags).refused(&["does not use TLS", "https"]);
    }
}

#[test]
fn places_to_connect_to() {
    for rule in ["", "a", "a:1", "a:1:b", "a:x:b:1", "a:1:b:0", "a:1:b:99999", "a:1:b:2:3"] {
        with(&["--connect-to", rule]).refused(&["--connect-to", "HOST1:PORT1:HOST2:PORT2"]);
    }
    with(&["--connect-to", "other:80:127.0.0.1:9"]).refused(&["does not apply to http://127.0.0.1:9"]);
    with(&["--connect-to", "127.0.0.1:9:name.invalid:9"]).refused(&["can't resolve", "name.invalid"]);
    with(&["--unix-socket", &"x".repeat(200)]).refused(&["socket path", "longer"]);
    with(&["--unix-socket", "s", "--connect-to", ":::"]).refused(&["--unix-socket"]);
    with(&["--connect-to", ":::", "--connect-to", "other:80:127.0.0.1:9"])
        .refused(&["other:80", "does not apply"]);
    with(&["--connection-age", "500ms"]).refused(&["--connection-age", "too short", "1s"]);
    with(&["--resolve-every", "0"]).refused(&["--resolve-every", "too short", "1s"]);
    with(&["--unix-socket", "s", "--resolve-every", "5s"]).refused(&["--unix-socket"]);
}

#[test]
fn unknown_flags_and_commands() {
    with(&["--rps", "5"]).refused(&["--rps"]);
    Place::new().call(&["fly"]).refused(&["fly"]);
    let nothing = Place::new().call(&[]);
    assert_eq!((nothing.code(), nothing.stdout.as_str()), (Some(2), ""));
    let place = Place::new();
    place.call(&["report", "nowhere"]).refused(&["nowhere", "run.json"]);
    place.file("x/run.json", "{}");
    place.call(&["report", "x"]).refused(&["x/run.json"]);
    place.file("y/run.json", "{\"schema\": \"unblink.run/9\", \"status\": \"complete\"}");
    place.call(&["report", "y"]).refused(&["y/run.json", "unblink.run/9", "unblink.run/2"]);
    place.call(&["report", "y", "--from", "5s", "--to", "5s"]).refused(&["--from", "--to"]);
    assert!(!Path::new("y/report.html").exists());
}
