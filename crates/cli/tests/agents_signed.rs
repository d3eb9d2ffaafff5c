//! What somebody with the operator's key can't do on an agent.

use crate::support::bus::Bus;
use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::json;

/// What an agent's own user has said holds, whatever is signed.
#[test]
fn no_plan_widens_an_agents_limits() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let refused_with = |more: &[&str], plan: &[&str], reason: &str| {
        let agent = bus.agent(&place, "own", more);
        let said = bus.run(&place, "1", &[&[&target.url(), "-R", "100", "-d", "1s"], plan].concat()).wait();
        assert_eq!(said.code(), Some(3), "{said:?}");
        assert!(said.stderr.contains(reason), "{}", said.stderr);
        let said = agent.wait();
        assert_eq!(said.code(), Some(3), "{said:?}");
        assert_eq!(said.stderr.matches("error:").count(), 1, "it is said once: {}", said.stderr);
    };
    let refused = |more: &[&str], reason: &str| refused_with(more, &[], reason);
    refused(&["--allow-target", "shop.test"], "this agent's --allow-target allows shop.test");
    // Hosts that it allows are none of the sockets of its machine.
    let socket = place.path().join("engine.sock");
    let engine = Hostile::on_unix(&socket, |_| Act::Answer(ok()));
    let to_socket = ["--unix-socket", socket.to_str().expect("UTF-8")];
    for allowed in ["shop.test", "127.0.0.1"] {
        refused_with(&["--allow-target", allowed], &to_socket, "engine.sock may not be put under load");
    }
    assert!(engine.seen().is_empty(), "nothing was sent");
    refused(&["--max-rate", "50"], "above");
    // What was measured on its machine, of which half may be asked for.
    let other =
        place.call(&["sim", "--scenario", "healthy", "-d", "1s", "--json", "--no-store"]).run().document;
    let constants = json!({
        "schema": "unblink.size-constants/1", "tool": other["tool"], "environment": other["environment"],
        "constants": [{"name": "ceiling_per_s", "value": 198.0, "source": "measured here", "is_given": true}],
    });
    place.file("here.json", constants.to_string());
    let agent = bus.agent(&place, "own", &["--constants", "here.json"]);
    let said = bus.run(&place, "1", &[&target.url(), "-R", "100", "-d", "1s"]).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    let reason = "would offer 100/s at the highest, and carries 99/s by what was measured there";
    assert!(said.stderr.contains(reason), "{}", said.stderr);
    // It was asked for nothing, and is there for another run.
    agent.signal(Signal::TERM);
    agent.wait();
    assert!(target.seen().is_empty(), "nothing was sent");
}

/// Each machine may have a password of its own. A target says back what it was sent, and an error quotes a host.
#[test]
fn what_an_agents_environment_fills_in_stays_there() {
    const SECRET: &str = "Zq7w-of-the-agent";
    let place = Place::new();
    let target = Hostile::start(|seen| {
        let said = seen.header("x-id").unwrap_or("nothing");
        Act::Answer(answer(&format!("401 {said}"), "no"))
    });
    let bus = Bus::start(&place);
    let load = "[load]\nrate = 10\nduration = \"1s\"\n[[requests]]\n";
    let header = "header = [\"X-Id: ${PW}\"]\n";
    place.file("header.toml", format!("{load}url = \"{}\"\n{header}", target.url()));
    place.file("host.toml", format!("{load}url = \"http://${{PW}}.invalid:9/\"\n"));
    for (plan, shown) in [("header.toml", "401 ***"), ("host.toml", "***.invalid")] {
        let operator = bus.operator.public_key();
        let agent = ["agent", "--bus", &bus.url, "--accept-from", &operator, "--shares", "1", "-o", "own"];
        let agent = Started::spawn(place.command(&agent).env("PW", SECRET));
        let run = ["run", plan, "--agents", "1", "--bus", &bus.url, "--nkey", "operator.nk", "-o", "out"];
        let said = Started::spawn(place.command(&run).env("PW", "elsewhere")).wait();
        assert!(matches!(said.code(), Some(1 | 3)), "{said:?}");
        let stderr = said.stderr.to_lowercase();
        assert!(!stderr.contains("zq7w") && stderr.contains(shown), "{plan}: {said:?}");
        // Its own user may know.
        let own = agent.wait();
        assert!(own.stderr.to_lowercase().contains(&SECRET.to_lowercase()), "{plan}: {own:?}");
        assert_eq!(own.stderr.matches("error:").count(), 1, "it is said once: {own:?}");
    }
}
