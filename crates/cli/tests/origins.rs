//! Runs that ask several origins: each has its own connections, and one that stalls holds up no other.

use crate::support::hostile::{Act, Hostile, Refusing, Seen, answer, ok};
use crate::support::{Place, Run};
use std::time::Duration;

/// A server that answers at once.
fn quick() -> Hostile {
    Hostile::start(|_| Act::Answer(ok()))
}

fn operation<'a>(run: &'a Run, end_of_name: &str) -> &'a serde_json::Value {
    let all = run.at("/operations").as_array().expect("a list");
    let is_meant =
        |one: &&serde_json::Value| one["name"].as_str().is_some_and(|name| name.ends_with(end_of_name));
    all.iter().find(is_meant).unwrap_or_else(|| panic!("{end_of_name} is not among {all:#?}"))
}

#[test]
fn a_stalled_origin_holds_up_no_other() {
    let (good, hung) = (quick(), Hostile::start(|_| Act::SendThenStall(Vec::new())));
    let urls = [format!("http://{}/good", good.address), format!("http://{}/hung", hung.address)];
    let args = ["-R", "200", "-n", "200", "-c", "3", "-t", "2", "--timeout", "400ms", "--no-preflight"];
    let run = Place::new().measure(&[&urls.each_ref().map(String::as_str)[..], &args].concat());
    run.assert_accounts();
    let (good, hung) = (operation(&run, "/good"), operation(&run, "/hung"));
    // With connections in common, all six would soon have been with those who wait.
    assert_eq!((&good["arrivals"]["ok"], &hung["arrivals"]["timed_out"]), (&100.into(), &100.into()));
    assert_eq!((&good["origin"], &hung["origin"]), (&0.into(), &1.into()));
    let origins = run.at("/origins").as_array().expect("a list");
    for (origin, url) in origins.iter().zip(&urls) {
        assert!(url.contains(&format!(":{}/", origin["port"])), "{origin:#}");
        assert_eq!(&origin["connections"]["limit"], 3);
    }
    for (origin, operation) in origins.iter().zip([good, hung]) {
        for figure in ["arrivals", "codes", "response_time", "service_time"] {
            assert_eq!(origin.get(figure), operation.get(figure), "{figure}");
        }
    }
    let slow = run.at("/slowest").as_array().expect("a list");
    assert!(!slow.is_empty() && slow.iter().all(|slow| slow["origin"] == 1), "{slow:#?}");
    assert_eq!(origins[0]["connections"]["opened"], 3);
    assert_eq!(origins[0]["connections"]["closed_on_timeout"], 0);
    assert!(origins[1]["connections"]["closed_on_timeout"].as_u64() > Some(0), "{origins:#?}");
}

/// Requests without names of their own that differ in their origin only.
#[test]
fn names_say_which_origin_is_asked() {
    let servers = [quick(), quick()];
    let urls = servers.each_ref().map(|server| format!("http://{}/x", server.address));
    let slo = format!("{}: max < 9s", urls[1].replace("http://", "GET "));
    let run = Place::new().measure(&[&urls[0], &urls[1], "-R", "100", "-n", "20", "--slo", &slo]);
    run.assert_all("ok");
    for server in &servers {
        let name = format!("GET {}/x", server.address);
        assert_eq!(operation(&run, &name)["arrivals"]["ok"], 10);
    }
    assert_eq!(run.at("/verdict/status"), "pass");
}

#[test]
fn each_origin_is_asked_before_the_run() {
    let (place, good, nobody) = (Place::new(), quick(), Refusing::new());
    let url = format!("http://{}/", good.address);
    let said = place.call(&["run", &url, &nobody.url(), "-R", "100", "-n", "10", "-o", "out"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains(&nobody.address.to_string()), "{said:?}");
    let document = place.run_json();
    assert!(document["origins"][0].get("preflight").is_none(), "{:#}", document["origins"]);
    assert!(document["origins"][1]["preflight"].is_string(), "{:#}", document["origins"]);

    let nobody_url = nobody.url();
    let args = [&url, nobody_url.as_str(), "-R", "100", "-n", "10", "--no-preflight"];
    let run = Place::new().measure(&args);
    assert_eq!((run.arrivals("ok"), run.failures("connect_refused")), (5, 5));
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let never = findings.iter().find(|finding| finding["code"] == "never_connected").expect("a finding");
    assert!(
        never["message"].as_str().is_some_and(|said| said.contains(nobody_url.trim_end_matches('/'))),
        "{never:#}"
    );
}

/// A plan's path goes to its target, a whole URL where it says; what follows a dash goes on to the record and back.
#[test]
fn a_plan_and_its_record() {
    let slow = Hostile::start(|_| Act::AnswerAfter(Duration::from_millis(60), ok()));
    let (place, quick) = (Place::new(), quick());
    place.file(
        "two.toml",
        format!(
            "target = \"http://{}\"\n[load]\nrate = 100\nrequests = 40\n[[requests]]\nname = \"quick\"\nurl = \"/\"\n\
             [[requests]]\nname = \"slow\"\nurl = \"http://{}/\"\n",
            quick.address, slow.address
        ),
    );
    let run = place.measure(&["two.toml"]);
    run.assert_all("ok");
    let p50 = |name| operation(&run, name)["response_time"]["quantiles"][0]["value"].as_u64().expect("ns");
    assert!(p50("slow") >= 60_000_000, "{}", p50("slow"));
    // The same is read from the folder's lines as the run has told.
    let origins = run.at("/origins").clone();
    let mut again = run_of_lines(&place);
    again["origins"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .zip(origins.as_array().expect("a list"))
        .for_each(|(read, told)| {
            for figure in ["/arrivals/scheduled", "/arrivals/ok", "/codes/200", "/response_time/count"] {
                assert_eq!(read.pointer(figure), Some(&20.into()), "{figure}");
                assert_eq!(told.pointer(figure), Some(&20.into()), "{figure}");
            }
            for count in ["attempted", "opened", "peak"] {
                assert_eq!(read["connections"][count], told["connections"][count], "{count}");
            }
        });
}

/// The record without its end, as a killed process leaves it.
fn run_of_lines(place: &Place) -> serde_json::Value {
    let folder = place.path().join("out");
    let mut document = place.run_json();
    let lines = place.text("out/intervals.jsonl");
    let header: serde_json::Value =
        serde_json::from_str(lines.lines().next().expect("a header")).expect("JSON");
    document = serde_json::json!({"schema": document["schema"].take(), "status": "running", "header": header["header"]});
    std::fs::write(folder.join("run.json"), document.to_string()).expect("written");
    let said = place.call(&["report", "out", "--json"]);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn a_rule_for_one_of_two_origins() {
    let servers = [quick(), quick()];
    let urls = [
        format!("http://example.test:{}/a", servers[0].address.port()),
        format!("http://{}/b", servers[1].address),
    ];
    let rule = format!("example.test:{0}:127.0.0.1:{0}", servers[0].address.port());
    let args = [urls[0].as_str(), &urls[1], "-R", "100", "-n", "20", "--connect-to", &rule];
    let run = Place::new().measure(&args);
    run.assert_all("ok");
    assert_eq!(
        servers.each_ref().map(|server| server.seen().len()),
        [11, 11],
        "with one before the run each"
    );
    let nobody = ["run", &urls[1], "-R", "10", "-n", "1", "--connect-to", "other.test::127.0.0.1:"];
    Place::new().call(&nobody).refused(&["--connect-to", "does not apply"]);
}

#[test]
fn more_origins_than_a_run_has() {
    let urls: Vec<String> = (1..=9).map(|port| format!("http://127.0.0.1:{port}/")).collect();
    let mut args = vec!["run", "-R", "10", "-n", "1"];
    args.extend(urls.iter().map(String::as_str));
    Place::new().call(&args).refused(&["at most 8 origins", "http://127.0.0.1:9"]);
}

/// One answers with an error: its own failures are told, and the other's figures are as if it were alone.
#[test]
fn failures_are_those_of_their_origin() {
    let script = |_: &Seen| Act::Answer(answer("500 Oops", ""));
    let (good, bad) = (quick(), Hostile::start(script));
    let urls = [format!("http://{}/good", good.address), format!("http://{}/bad", bad.address)];
    let run = Place::new().measure(&[&urls[0], &urls[1], "-R", "100", "-n", "20", "--no-preflight"]);
    assert_eq!(operation(&run, "/good")["arrivals"]["ok"], 10);
    assert_eq!(operation(&run, "/bad")["codes"]["500"], 10);
    assert_eq!(operation(&run, "/bad")["arrivals"]["failed"], 10);
}

/// What the report says of an origin's only address is not said of one address of several.
#[test]
fn addresses_are_those_of_their_origin() {
    let (good, nobody) = (quick(), [Refusing::new(), Refusing::new()]);
    let url = format!("http://{}/", good.address);
    let (first, second) = (nobody[0].url(), nobody[1].url());
    let run = Place::new().measure(&[&url, &first, &second, "-R", "100", "-n", "12", "--no-preflight"]);
    assert!(!run.has_finding("address_dead"), "{:#}", run.at("/validity"));
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let never = findings.iter().find(|finding| finding["code"] == "never_connected").expect("a finding");
    for server in &nobody {
        assert!(never["message"].to_string().contains(&server.address.to_string()), "{never:#}");
    }
}

#[test]
fn an_origin_beyond_the_listed_targets_is_asked_before_the_run() {
    let (place, good, nobody) = (Place::new(), quick(), Refusing::new());
    let mut targets = format!("GET http://{}/\n", good.address).repeat(1_001);
    targets += &format!("GET {}\n", nobody.url());
    place.file("t.txt", targets);
    let said = place.call(&["run", "--targets", "t.txt", "-R", "100", "-n", "10", "-o", "out"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("target 1002"), "{said:?}");
}

#[test]
fn names_of_hosts_are_the_same_in_either_case() {
    let server = quick();
    let port = server.address.port();
    let urls = [format!("http://localhost:{port}/a"), format!("http://LOCALHOST:{port}/b")];
    let run = Place::new().measure(&[&urls[0], &urls[1], "-R", "100", "-n", "10"]);
    assert_eq!(run.at("/origins").as_array().map(Vec::len), Some(1));
}

/// Those who wait for a connection of a hung origin when the run ends are not the generator's doing, however quick the rest
/// was.
#[test]
fn who_waits_for_a_hung_origin_is_not_the_generators_doing() {
    let (good, hung) = (quick(), Hostile::start(|_| Act::SendThenStall(Vec::new())));
    let urls = [format!("http://{}/good", good.address), format!("http://{}/hung", hung.address)];
    let args = ["-R", "300", "-d", "2s", "-c", "2", "--timeout", "10s", "--drain", "200ms", "--no-preflight"];
    let run = Place::new().measure(&[&urls.each_ref().map(String::as_str)[..], &args].concat());
    assert_eq!((run.arrivals("unfinished"), run.arrivals("unsent")), (2, 298));
    assert!(!run.has_finding("sent_below_offered"), "{:#}", run.at("/validity"));
    let findings = run.at("/validity/findings").to_string();
    assert!(!findings.contains("The generator can't carry"), "{findings}");
}

/// One that hangs is found, though nine in ten of all arrivals are answered and nothing grows that would show among them.
#[test]
fn an_origin_that_hangs_is_named() {
    let (good, hung) = (quick(), Hostile::start(|_| Act::SendThenStall(Vec::new())));
    let place = Place::new();
    place.file(
        "two.toml",
        format!(
            "target = \"http://{}\"\n[load]\nrate = 400\nduration = \"5s\"\n\
             [connections]\ntimeout = \"10s\"\ndrain = \"600ms\"\n\
             [[requests]]\nname = \"good\"\nurl = \"/\"\nweight = 98\n\
             [[requests]]\nname = \"hung\"\nurl = \"http://{}/\"\nweight = 2\n",
            good.address, hung.address
        ),
    );
    let run = place.measure(&["two.toml", "--no-preflight"]);
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let saturated = findings.iter().find(|finding| finding["code"] == "saturated").expect("it is found");
    let message = saturated["message"].as_str().expect("a message");
    assert!(message.starts_with(&format!("http://{} can't carry", hung.address)), "{message}");
}
