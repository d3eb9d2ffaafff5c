//! Agents that measure their machine before they join.

use crate::support::bus::Bus;
use crate::support::hostile::healthy;
use crate::support::{Place, Started};

/// What it has measured holds as what a file says does: no machine carries the first of these loads, and every one the second. It works
/// where nothing can be written but beneath the current folder, as in a container, and leaves nothing there.
#[test]
fn an_agent_measures_its_machine_before_it_joins() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let key = bus.operator.public_key();
    let args =
        ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", "own", "--shares", "1", "--calibrate"];
    let agent = Started::spawn(&mut place.shell("export TMPDIR=/nowhere", &args));
    let url = target.url();
    let run = |rate| {
        let load = [url.as_str(), "-R", rate, "-d", "1s", "--no-preflight", "--agents-within", "150s"];
        bus.run(&place, "1", &load).wait_for(std::time::Duration::from_secs(240))
    };
    let said = run("50M");
    assert_eq!(said.code(), Some(3), "{said:?}");
    for part in ["would offer 50000000/s at the highest, and carries ", "/s by what was measured there"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert!(target.seen().is_empty(), "nothing was sent");
    run("20").run().assert_all("ok");
    let said = agent.wait();
    assert_eq!(said.code(), Some(0), "{said:?}");
    let (measuring, measured) =
        ("measuring this machine before it joins", "measured: a run may ask this agent for ");
    let joined = "waiting for a run on ";
    let at = [measuring, measured, joined].map(|part| said.stderr.find(part));
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{said:?}");
    let left: Vec<String> =
        place.list(".").into_iter().filter(|name| name.contains("unblink-size")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// One of both says what a machine carries.
#[test]
fn what_is_measured_is_not_read_from_a_file_as_well() {
    let key = unblink_cluster::signed::KeyPair::new_user().public_key();
    let both = [
        "agent",
        "--bus",
        "nats://127.0.0.1:1",
        "--accept-from",
        &key,
        "--calibrate",
        "--constants",
        "here.json",
    ];
    Place::new().call(&both).refused(&["--calibrate", "--constants"]);
}
