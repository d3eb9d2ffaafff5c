//! What the report says about retries.

use crate::format;
use unblink_artifact::document::RunDocument;

/// What is said of retries.
#[derive(PartialEq, Debug)]
pub(crate) struct Told {
    /// Those that are worth a place: (name, count).
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) sentences: Vec<String>,
}

/// Nothing where no request could be tried again.
pub(crate) fn retries(doc: &RunDocument) -> Option<Told> {
    let of = doc.retries.as_ref()?;
    let counts = [
        ("attempts", of.attempts),
        ("arrivals retried", of.retried),
        ("recovered", of.recovered),
        ("out of attempts", of.exhausted),
        ("refused by the budget", of.refused_by_budget),
        ("refused for lack of room", of.refused_by_room),
    ];
    let counts = counts.into_iter().enumerate().filter(|(i, (_, n))| *i < 3 || *n > 0);
    let mut sentences = Vec::new();
    if let Some(amplification) = of.amplification.filter(|_| of.retried > 0) {
        sentences.push(format!("{amplification:.2} attempts for each arrival that was sent"));
    }
    let mut causes: Vec<(&String, u64)> = of.causes.iter().map(|(code, n)| (code, *n)).collect();
    causes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let causes: Vec<String> =
        causes.iter().map(|(code, n)| format!("{code} {}", format::count(*n))).collect();
    if !causes.is_empty() {
        sentences.push(format!("tried again after: {}", causes.join(", ")));
    }
    Some(Told { counts: counts.map(|(_, count)| count).collect(), sentences })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use std::collections::BTreeMap;
    use unblink_artifact::document::Retries;

    #[test]
    fn retries_are_told_where_there_may_be_some() {
        let mut doc = fixture::stall();
        assert_eq!(retries(&doc), None);
        doc.retries = Some(Retries { attempts: 60_000, amplification: Some(1.0), ..Retries::default() });
        let none = vec![("attempts", 60_000), ("arrivals retried", 0), ("recovered", 0)];
        assert_eq!(retries(&doc), Some(Told { counts: none, sentences: Vec::new() }));
        doc.retries = Some(Retries {
            attempts: 90_000,
            amplification: Some(1.5),
            retried: 20_000,
            recovered: 14_000,
            exhausted: 6_000,
            causes: BTreeMap::from([("shed".into(), 29_000), ("try_timeout".into(), 1_000)]),
            ..Retries::default()
        });
        let Told { counts, sentences } = retries(&doc).unwrap();
        assert_eq!(super::super::waits::cause(&doc), "some were tried again");
        assert_eq!(counts.last(), Some(&("out of attempts", 6_000)));
        assert_eq!(sentences[0], "1.50 attempts for each arrival that was sent");
        assert_eq!(format::plain(&sentences[1]), "tried again after: shed 29 000, try_timeout 1 000");
    }
}
