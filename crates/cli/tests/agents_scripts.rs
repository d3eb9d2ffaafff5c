//! wrk's scripts over several machines: they count the threads of all, and run only where somebody there says so.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::{Place, Said};
use serde_json::{Value, json};

/// Requests differ by thread, by its own count, and by what is drawn.
const COUNTS: &str = "local count = 0
    function setup(thread)
        count = count + 1
        thread:set('id', count)
    end
    function init(args) n = 0 end
    function request()
        n = n + 1
        return wrk.format(nil, table.concat({ '', id, n, math.random(1e9) }, '/'))
    end";

const LOAD: [&str; 8] = ["-R", "300", "-d", "1s", "--arrivals", "poisson", "--seed", "5"];

/// A run with this script of agents that are started here, before the load of which nobody asks.
fn local(place: &Place, agents: &str, script: &str, args: &[&str]) -> Said {
    place.file("s.lua", script);
    let nats = server().display().to_string();
    let own = [
        "--script",
        "s.lua",
        "--no-preflight",
        "--agents",
        agents,
        "--nats-server",
        &nats,
        "--json",
        "-o",
        "out",
    ];
    place.call(&[&["run"], args, &own].concat())
}

/// Each thread of three agents sends what the thread with its number sends of one run.
#[test]
fn threads_of_agents_send_what_those_of_one_run_send() {
    let (target, place) = (healthy(), Place::new());
    let merged = local(&place, "local:3", COUNTS, &[&[target.url().as_str()], &LOAD[..]].concat()).run();
    merged.assert_all("ok");
    assert_eq!(merged.at("/plan/threads"), &json!(3));
    assert_eq!(merged.at("/plan/values/0/name"), "s.lua");

    let (other, alone) = (healthy(), Place::new());
    alone.file("s.lua", COUNTS);
    let own = ["--script", "s.lua", "--no-preflight", "-t", "3"];
    let whole = alone.measure(&[&[other.url().as_str()], &LOAD[..], &own].concat());
    assert_eq!(merged.arrivals("scheduled"), whole.arrivals("scheduled"));
    let asked = target.asked();
    assert!(["/1/1/", "/2/1/", "/3/1/"].iter().all(|first| asked.keys().any(|one| one.starts_with(first))));
    assert!(asked.values().all(|&times| times == 1), "each request is sent once");
    assert!(asked == other.asked(), "the same requests");
}

/// Whoever signs a plan does not thereby run a program on another machine. Where that is allowed, the script travels with the plan.
#[test]
fn an_agent_runs_a_script_only_where_its_own_user_lets_it() {
    let (target, place, away) = (healthy(), Place::new(), Place::new());
    let ran = away.path().join("ran");
    let marks = format!("io.open('{}', 'a'):close()\n", ran.display());
    let done = "function done(summary) print('done ' .. summary.requests .. ' of ' .. count) end";
    place.file("lua/s.lua", format!("{marks}{COUNTS}\n{done}"));
    let load = "[load]\nrate = 200\nduration = \"1s\"\n";
    let request = "[request]\nscript = \"lua/s.lua\"\nscript-arg = [\"a\"]\n";
    place.file("plan.toml", format!("target = \"{}\"\n{request}{load}", target.url()));
    let bus = Bus::start(&place);
    let agent = bus.agent(&away, "no", &[]);
    let said = bus.run(&place, "1", &["plan.toml"]).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(
        said.stderr.contains("\"lua/s.lua\"") && said.stderr.contains("--allow-scripts"),
        "{}",
        said.stderr
    );
    assert_eq!(agent.wait().code(), Some(3));
    assert!(!ran.exists() && target.seen().is_empty(), "nothing of it was run, and nothing was sent");

    let agents = [
        bus.agent(&away, "one", &["--allow-scripts"]),
        bus.agent(&away, "two", &["--allow-scripts", "--shares", "2"]),
    ];
    let said = bus.run(&place, "2", &["plan.toml", "--no-preflight"]).wait();
    assert!(said.stderr.contains("done 200 of 3"), "{}", said.stderr);
    said.run().assert_all("ok");
    for agent in agents {
        let said = agent.wait();
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(!said.stderr.contains("done 200"), "it is called once, with the figures of all: {said:?}");
    }
    assert!(ran.exists());
    let left = away.list(".");
    assert!(!left.iter().any(|name| name.ends_with(".files")), "what was fetched is gone: {left:?}");

    // One machine with as many threads sends the same.
    let (other, alone) = (healthy(), Place::new());
    alone.file("s.lua", COUNTS);
    let own = ["-R", "200", "-d", "1s", "--script", "s.lua", "--no-preflight", "-t", "3"];
    alone.measure(&[&[other.url().as_str()], &own[..]].concat());
    assert!(target.asked() == other.asked(), "the same requests");
}

#[test]
fn done_is_told_of_all_and_knows_no_thread() {
    let (target, place) = (healthy(), Place::new());
    let script = format!(
        "{COUNTS}
         local number, threads, own = 0, {{}}, setup
         function setup(thread) own(thread) threads[#threads + 1] = thread end
         function done(summary, latency)
            print('done ' .. summary.requests .. ' of ' .. #threads .. ' ' .. tostring(latency.max > 0))
            threads[1]:get('id')
         end"
    );
    let said = local(&place, "local:2", &script, &[&target.url(), "-R", "100", "-d", "1s"]);
    assert_eq!(said.stderr.matches("done 100 of 2 true").count(), 1, "{}", said.stderr);
    let why = "done() failed: s.lua:";
    assert!(said.stderr.contains(why) && said.stderr.contains("was on another machine"), "{}", said.stderr);
    assert!(said.code() != Some(2), "it changes no result: {said:?}");
    said.run().assert_all("ok");
}

/// One thread asks for it, and all end at one instant. The load counts as complete.
#[test]
fn a_script_ends_the_load_of_all() {
    let (target, place) = (healthy(), Place::new());
    let script = format!(
        "{COUNTS}
         function response() if id == 2 and n == 30 then wrk.thread:stop() end end"
    );
    let said = local(&place, "local:2", &script, &[&target.url(), "-R", "40", "-d", "50s"]);
    assert!(said.stderr.contains("the script has ended the load (thread:stop)"), "{}", said.stderr);
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.at("/status"), "complete", "{run:?}");
    assert!(run.document["aborted"].is_null(), "{run:?}");
    // Thirty of each at 20/s, and the words to everybody: far from all of the load.
    let sent = run.arrivals("scheduled");
    assert!((60..1_500).contains(&sent), "{sent}");
    let ends: Vec<Value> = place
        .list("out.agents")
        .iter()
        .map(|name| {
            let own: Value =
                serde_json::from_str(&place.text(&format!("out.agents/{name}/run.json"))).expect("JSON");
            assert_eq!(own["status"], "complete");
            own["series"]["load_to_ns"].clone()
        })
        .collect();
    assert!(ends.len() == 2 && ends[0] == ends[1], "{ends:?}");
}

/// What fails on an agent is told where the run is looked at.
#[test]
fn errors_of_a_script_come_back() {
    let (target, place) = (healthy(), Place::new());
    let said =
        local(&place, "local:2", crate::scripts::HALF_FAILS, &[&target.url(), "-R", "100", "-d", "1s"]);
    assert!(
        said.stderr.contains("the script failed") && said.stderr.contains("every fourth"),
        "{}",
        said.stderr
    );
    assert!(place.text("out/cluster.jsonl").contains("every fourth"));
    let run = said.run();
    assert!(run.has_finding("script_failed") && run.code == Some(3), "{run:?}");
}

#[test]
fn what_a_script_can_not_do_with_agents_is_refused() {
    let place = Place::new();
    place.file("s.lua", "function done() end");
    place.file("operator.nk", unblink_cluster::signed::KeyPair::new_user().seed().expect("a private key"));
    let nats = server().display().to_string();
    let url = "http://127.0.0.1:9/";
    // Arguments may be secrets.
    let led = ["--agents", "1", "--nkey", "operator.nk", "--bus", "nats://127.0.0.1:1"];
    let args = ["run", url, "-R", "10", "-d", "1s", "--script", "s.lua", "--script-arg", "s3cret"];
    place.call(&[&args[..], &led].concat()).refused(&["secret on the command line", "into a plan"]);
    let knee = [
        "knee",
        url,
        "--slo",
        "p99 < 1s",
        "--script",
        "s.lua",
        "--agents",
        "local:1",
        "--nats-server",
        &nats,
    ];
    place.call(&knee).refused(&["done()", "makes several runs"]);
    // What each agent finds out by itself.
    let said = local(
        &place,
        "local:2",
        "function setup(thread) thread:get('id') end",
        &[url, "-R", "10", "-d", "1s"],
    );
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("thread:get(\"id\"): this thread is on another machine"), "{}", said.stderr);
    let all = place.list(".");
    assert!(!all.iter().any(|name| name.ends_with(".local")), "{all:?}");
}
