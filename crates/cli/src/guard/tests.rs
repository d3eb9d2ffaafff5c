use super::*;
use allow::Entry;
use std::collections::BTreeMap;

const NOW: &str = "2026-11-23T12:00:00Z";

fn guard(hosts: &[(&str, Entry)]) -> Guard {
    let hosts: BTreeMap<String, Entry> =
        hosts.iter().map(|(name, entry)| (name.to_string(), entry.clone())).collect();
    Guard { list: AllowList::of(hosts), ..Guard::default() }
}

fn terms(guard: &Guard, host: &str, addresses: &[&str]) -> Result<Terms, String> {
    let addresses: Vec<Address> = addresses.iter().map(|text| Address::Tcp(text.parse().unwrap())).collect();
    guard.terms_at(host, &addresses, NOW.parse().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn this_machine_and_private_networks_need_no_permission() {
    for address in ["127.0.0.1:80", "[::1]:80", "10.0.0.1:80", "[fc00::1]:80", "[::ffff:192.168.0.1]:80"] {
        assert_eq!(terms(&guard(&[]), "h", &[address]), Ok(Terms::default()), "{address}");
    }
}

/// One public address among several is enough.
#[test]
fn a_public_host_needs_it_and_is_told_how() {
    let said = terms(&guard(&[]), "s.test", &["10.0.0.1:80", "203.0.113.1:80"]).expect_err("refused");
    for part in ["s.test (203.0.113.1)", "unblink allow s.test", "UNBLINK_ALLOW=s.test"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let allowed = guard(&[("s.test", Entry::default())]);
    assert_eq!(terms(&allowed, "S.test.", &["203.0.113.1:80"]), Ok(Terms::default()));
    assert!(terms(&allowed, "other.test", &["203.0.113.1:80"]).is_err());
    assert!(terms(&allowed, "a.s.test", &["203.0.113.1:80"]).is_err());
    // An address that was allowed is, whatever it is called.
    let allowed = guard(&[("203.0.113.1", Entry::default())]);
    assert!(terms(&allowed, "s.test", &["[::ffff:203.0.113.1]:80"]).is_ok());
    assert!(terms(&allowed, "s.test", &["203.0.113.1:80", "203.0.113.2:80"]).is_err());
}

#[test]
fn an_entry_holds_up_to_its_rate_and_its_last_day() {
    let entry = |until: &str| Entry {
        max_rate: Some(Rate::per_second(5)),
        until: Some(until.parse().expect("a day")),
    };
    let of = |until: &str| terms(&guard(&[("s.test", entry(until))]), "s.test", &["203.0.113.1:80"]);
    let today = of("2026-11-23").expect("the last day is one");
    assert_eq!(today.rate_cap, Some(Rate::per_second(5)));
    assert!(today.ends.is_some_and(|(end, _)| end.to_string() == "2026-11-24T00:00:00Z"));
    let over = of("2026-11-22").expect_err("over");
    assert!(over.contains("2026-11-23") && over.contains("unblink allow s.test"), "{over}");
    // A host that is in a private network today has the rate that was said of it.
    let inside = terms(&guard(&[("s.test", entry("2027-01-31"))]), "s.test", &["10.0.0.1:80"]);
    assert_eq!(inside.map(|terms| terms.rate_cap), Ok(Some(Rate::per_second(5))));
}

#[test]
fn the_strictest_of_all_holds() {
    let at = |n: u64, end: &str| Terms {
        rate_cap: Some(Rate::per_second(n)),
        ends: Some((end.parse().expect("a moment"), end.into())),
    };
    let mut both = at(5, "2026-11-24T00:00:00Z");
    both.add(at(3, "2026-11-25T00:00:00Z"));
    assert_eq!(
        (both.rate_cap, &both.ends.as_ref().unwrap().1[..]),
        (Some(Rate::per_second(3)), "2026-11-24T00:00:00Z")
    );
    both.add(Terms::default());
    assert_eq!(both.rate_cap, Some(Rate::per_second(3)));
    assert!(Terms::default().is_less(&both) && !both.is_less(&Terms::default()) && !both.is_less(&both));
}

#[test]
fn load_ends_before_it_must() {
    let in_an_hour = crate::clock::timestamp() + jiff::SignedDuration::from_hours(1);
    let terms = Terms { rate_cap: None, ends: Some((in_an_hour, "the policy p".into())) };
    assert!(terms.check_end(Nanos::from_secs(3000)).is_ok());
    let said = terms.check_end(Nanos::from_secs(4000)).expect_err("too long").to_string();
    assert!(said.contains("the policy p") && said.contains("make it shorter"), "{said}");
    assert!(Terms::default().check_end(Nanos(u64::MAX)).is_ok());
}
