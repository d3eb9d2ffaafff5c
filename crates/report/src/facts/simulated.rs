//! What must be said of a run that was not real, and of pages that need several requests.

use crate::event;
use crate::format::{self, Bound, least};
use unblink_artifact::document::{IntervalKind, RunDocument};

/// That the run was simulated, and with what: a sentence for the top, then details.
pub(crate) fn simulated(doc: &RunDocument) -> Option<(String, Vec<String>)> {
    let simulated = doc.simulated.as_ref()?;
    let world = &simulated.world;
    let whose = if world.is_felt {
        "no request was sent. What users of this server would feel."
    } else {
        "no request was sent. These are the figures that this client would report, not what users feel."
    };
    let mut details = vec![format!("server: {}", world.server)];
    details.extend(world.services.iter().map(|(name, time)| format!("service time of {name}: {time}")));
    details.extend(world.answers.iter().map(|(name, what)| format!("answers of {name}: {what}")));
    if !world.network.is_empty() {
        details.push(format!("network: {}", world.network));
    }
    if !world.generator.is_empty() {
        details.push(format!("generator: {}", world.generator));
    }
    details.push(format!("client: {}", world.client));
    if let Some((omitted, claimed)) = omitted(doc) {
        let offered = match doc.rate.offered {
            Some(offered) => format!("{} offered", format::rate(offered)),
            None => format!("{} sent", format::rate(doc.rate.sent)),
        };
        details.push(format!("claimed: {}; {offered}", format::rate(claimed)));
        details.push(format!(
            "omitted: {} of {} planned arrivals {} never sent",
            format::count(omitted),
            format::count(world.planned.unwrap_or(0)),
            if omitted == 1 { "was" } else { "were" }
        ));
    }
    if let Some(waiting) = simulated.waiting.as_ref().filter(|w| w.omitted > simulated.omitted.unwrap_or(0)) {
        details.push(format!(
            "omitted: {} would have come while users waited for longer than usual ({} in the longest wait, of {})",
            format::plural(waiting.omitted, "arrival", "arrivals"),
            format::count(waiting.longest_omitted),
            format::duration(waiting.longest_ns)
        ));
    }
    if simulated.invented > 0 {
        let values = format::plural(simulated.invented, "value", "values");
        details.push(format!("invented: {values} by the client's correction"));
    }
    if simulated.requests_per_arrival > 1.0005 {
        details.push(format!(
            "amplified: {} requests were sent for each arrival",
            format::number(simulated.requests_per_arrival)
        ));
    }
    Some((whose.into(), details))
}

/// Planned arrivals that the simulated client never sent, if any, and the rate that the plan claims.
pub(crate) fn omitted(doc: &RunDocument) -> Option<(u64, f64)> {
    let simulated = doc.simulated.as_ref()?;
    Some((simulated.omitted.filter(|&omitted| omitted > 0)?, simulated.claimed?))
}

/// The simulated client may move its schedule.
pub(crate) fn moves_schedule(doc: &RunDocument) -> bool {
    doc.simulated.as_ref().is_some_and(|simulated| simulated.world.moves_schedule)
}

/// The simulated client, if its figures are not what users feel.
pub(crate) fn wrong_client(doc: &RunDocument) -> Option<&str> {
    let world = &doc.simulated.as_ref()?.world;
    (!world.is_felt).then_some(world.client.as_str())
}

/// What pages of several requests feel: sentences.
pub(crate) fn fanout(doc: &RunDocument) -> Vec<String> {
    let Some(fanout) = &doc.fanout else { return Vec::new() };
    let need = format!("need {}", format::plural(u64::from(fanout.requests), "request", "requests"));
    let time = |ns, censored| match censored {
        true => format!("more than {}", least(ns)),
        false => format!("{} or longer", Bound::Lower.beside(ns)),
    };
    let few = if fanout.p99_few_samples { " (few samples)" } else { "" };
    let half = format!("Half of the pages that {need} take {}", time(fanout.p50_ns, fanout.p50_censored));
    let one_of_100 = format!("1 in 100 takes {}{few}.", time(fanout.p99_ns, fanout.p99_censored));
    let mut sentences = match (fanout.p50_one_event, fanout.p99_one_event) {
        (false, false) => vec![format!("{half}, {one_of_100}")],
        (false, true) => vec![format!("{half}; what 1 in 100 takes can't be told.")],
        (true, _) => vec![format!("How long pages take that {need} can't be told.")],
    };
    if fanout.p50_one_event || fanout.p99_one_event {
        let first = doc.response_time.quantiles.iter().find(|q| q.interval == Some(IntervalKind::OneEvent));
        let at = first.and_then(|quantile| quantile.event_at_ns);
        let at = at.map_or(String::new(), |at| format!(" at t = {}", format::moment(event::about(doc, at))));
        sentences.push(format!(
            "One event{at} decides it: a page's requests are sent together and meet it together, so that only the pages \
             of that time feel it, and how many these are is a question of how often such events come."
        ));
    }
    let wanted = [0.5, 0.9, 0.99, 0.999];
    let shares: Vec<String> = fanout
        .slower
        .iter()
        .filter(|slower| wanted.contains(&slower.q) && !slower.one_event)
        .map(|slower| {
            let label = format::quantile_label(slower.q);
            format!("{label} ({}): {}", format::duration(slower.value_ns), format::percent(slower.share))
        })
        .collect();
    if !shares.is_empty() {
        sentences.push(format!("Pages slower than a single request's {}.", shares.join(" · ")));
    }
    sentences.push(
        "A page's requests are taken as independent and spread over the whole run; sent together they meet one \
         event together, and fewer pages feel it."
            .to_owned(),
    );
    sentences
}
