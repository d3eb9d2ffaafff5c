//! What the bus lets whom say and hear, with the keys and the configuration that `--agents local:N` writes: a real nats-server,
//! spoken to by hand.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::somebody::Somebody;
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;
use unblink_cluster::signed::KeyPair;

/// A run on a bus of its own, for as long as its permissions are tried.
struct Local {
    place: Place,
    run: Started,
}

impl Local {
    fn under_way(url: &str) -> Local {
        let place = Place::new();
        let nats = server().display().to_string();
        let load = ["run", url, "-R", "50", "-d", "60s", "--no-preflight", "-o", "out", "--json"];
        let agents = ["--agents", "local:1", "--nats-server", &nats];
        let run = Started::spawn(&mut place.command(&[&load[..], &agents].concat()));
        Local { place, run }
    }

    /// Where the bus listens.
    fn bus(&self) -> String {
        let names = self.place.list("out.local");
        let ports = names.iter().find(|name| name.ends_with(".ports")).expect("the bus has said where it is");
        let said: Value =
            serde_json::from_str(&self.place.text(&format!("out.local/{ports}"))).expect("JSON");
        said["nats"][0].as_str().expect("a URL").to_string()
    }

    fn agents_key(&self) -> KeyPair {
        KeyPair::from_seed(self.place.text("out.local/agent.nk").trim()).expect("a private key")
    }
}

/// With the agents' key nobody says what a coordinator says, reads what others recorded, or takes their records away; without a key
/// nobody is let in. The run does not notice.
#[test]
fn an_agents_key_is_good_for_nothing_else() {
    let target = healthy();
    let local = Local::under_way(&target.url());
    target.wait_for(50);
    let (bus, key) = (local.bus(), local.agents_key());
    let mut agent = Somebody::join(&bus, Some(&key)).expect("it is let in");
    for subject in ["ub.local.up.x", "ub.other.up.x"] {
        assert_eq!(agent.publishes(subject), None, "{subject}");
    }
    for subject in [
        // Offers, starts and stops, and the time.
        "ub.local.to.x",
        "ub.other.to.x",
        "ub.local.live",
        "_INBOX.operator.x",
        "_INBOX.agent.x",
        // The stream that keeps the records.
        "$JS.API.STREAM.INFO.UB_local",
        "$JS.API.STREAM.DELETE.UB_local",
        "$JS.API.STREAM.PURGE.UB_local",
        "$JS.API.STREAM.MSG.GET.UB_local",
        "$JS.API.CONSUMER.CREATE.UB_local",
        "$JS.ACK.UB_local.c.1.1.1.1.1",
        "$SYS.REQ.SERVER.PING",
    ] {
        let refused = agent.publishes(subject).unwrap_or_else(|| panic!("{subject} is let through"));
        assert!(refused.contains("Permissions Violation for Publish"), "{subject}: {refused}");
    }
    assert_eq!(agent.listens("ub.local.to.x"), None);
    for subject in [
        ">",
        "ub.>",
        "ub.local.>",
        "ub.local.up.*",
        "ub.local.iv.*",
        "_INBOX.operator.>",
        "_INBOX.>",
        "$JS.>",
    ] {
        let refused = agent.listens(subject).unwrap_or_else(|| panic!("{subject} is let through"));
        assert!(refused.contains("Permissions Violation for Subscription"), "{subject}: {refused}");
    }
    for stranger in [Some(KeyPair::new_user()), None] {
        let refused = Somebody::join(&bus, stranger.as_ref()).err();
        assert!(refused.is_some_and(|refused| refused.contains("Authorization Violation")));
    }
    // The agents' public key is known, and nothing is signed with it.
    let borrowed = local.place.file("other.nk", KeyPair::new_user().seed().expect("a private key"));
    let accept = KeyPair::new_user().public_key();
    local
        .place
        .call(&["agent", "--bus", &bus, "--nkey", &borrowed.display().to_string(), "--accept-from", &accept])
        .refused(&["can't connect to the bus"]);

    local.run.signal(Signal::INT);
    let said = local.run.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let run = said.run();
    assert_eq!(run.arrivals("ok") + run.arrivals("withheld"), 3_000, "{}", run.document["arrivals"]);
}

/// As in `docs/agents.md`: a key for each agent, all with the same permissions.
fn each_with_its_key(operator: &KeyPair, agents: &[&KeyPair]) -> String {
    let agents: String = agents
        .iter()
        .map(|agent| format!("  {{ nkey: {}, permissions: $AGENT }}\n", agent.public_key()))
        .collect();
    let operator = operator.public_key();
    format!(
        r#"authorization {{
  AGENT = {{ publish: ["ub.*.up.*", "ub.*.iv.*"], subscribe: ["ub.*.to.*", "_INBOX.agent.>"] }}
  users = [
  {{ nkey: {operator}, permissions: {{
    publish: ["ub.>", "$JS.API.>", "$JS.ACK.>"], subscribe: ["ub.>", "_INBOX.operator.>"] }} }}
{agents}] }}
"#
    )
}

/// Whose key is taken away gets onto the bus no more, and the others go on with theirs.
#[test]
fn an_agents_own_key_can_be_taken_away() {
    let (target, place) = (healthy(), Place::new());
    let [operator, one, other] = [(); 3].map(|()| KeyPair::new_user());
    let both = each_with_its_key(&operator, &[&one, &other]);
    let fewer = each_with_its_key(&operator, &[&one]);
    for (name, key) in [("one.nk", &one), ("other.nk", &other)] {
        place.file(name, key.seed().expect("a private key"));
    }
    let bus = Bus::for_those(&place, operator, &both);
    let args = [&target.url(), "-R", "50", "-d", "1s", "--no-preflight"];
    let agents = ["one", "other"].map(|name| bus.agent(&place, name, &["--nkey", &format!("{name}.nk")]));
    bus.run(&place, "2", &args).wait().run().assert_all("ok");
    for agent in agents {
        assert_eq!(agent.wait().code(), Some(0));
    }
    bus.lets_in(&place, &fewer);
    let is_refused = || {
        let again = Somebody::join(&bus.url, Some(&other));
        std::thread::sleep(Duration::from_millis(50));
        again.err().is_some_and(|refused| refused.contains("Authorization Violation"))
    };
    assert!((0..200).any(|_| is_refused()), "it has read its file anew");
    let refused = bus.agent(&place, "other-again", &["--nkey", "other.nk"]).wait();
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    let goes_on = bus.agent(&place, "one-again", &["--nkey", "one.nk"]);
    let place_of_second = Place::new();
    place_of_second.file("operator.nk", bus.operator.seed().expect("a private key"));
    bus.run(&place_of_second, "1", &args).wait().run().assert_all("ok");
    assert_eq!(goes_on.wait().code(), Some(0));
}
