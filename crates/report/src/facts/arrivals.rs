//! Whether the arrivals of each load lay as they should, in a sentence.

use crate::format::{self, Bound};
use unblink_artifact::document::{ArrivalTimes, Load, Process, RunDocument};

/// What the sampled arrivals say, a sentence for each open load.
pub(crate) fn arrivals(doc: &RunDocument) -> Vec<String> {
    let of = |load: &Load| {
        let sentence = of_one(load)?;
        Some(match &load.plan.name {
            Some(name) if doc.loads.len() > 1 => format!("{name}: {sentence}"),
            _ => sentence,
        })
    };
    doc.loads.iter().filter_map(of).collect()
}

fn of_one(load: &Load) -> Option<String> {
    let (process, asked) = (load.arrival_process.as_ref()?, load.plan.process()?);
    let looked_at = format!("Of {} looked at", format::plural(process.arrivals, "arrival", "arrivals"));
    let late = match process.sent.deviation_ns_max {
        Some(late) => {
            format!("; none of these was sent more than {} after its time", Bound::Upper.duration(late))
        }
        None => String::new(),
    };
    let gaps = |times: &ArrivalTimes| {
        times.exponential.as_ref().map(|test| {
            // Too small a probability says no more than that.
            let p =
                if test.p_value < 1e-4 { "below 0.01\u{a0}%".into() } else { format::percent(test.p_value) };
            format!("A²\u{a0}{}, p\u{a0}{p}", format::number((test.a2 * 100.0).round() / 100.0))
        })
    };
    let within = match asked {
        Process::Bursty { .. } => " in the bursts that were drawn",
        Process::Even | Process::Recorded | Process::Poisson { .. } => "",
    };
    if asked == Process::Recorded {
        let late = Bound::Upper.duration(process.sent.deviation_ns_max?);
        return Some(format!("{looked_at} none was sent more than {late} after its recorded time."));
    }
    Some(match (asked, gaps(&process.intended), gaps(&process.sent)) {
        (Process::Even, ..) => {
            let off = process.intended.deviation_ns_max.unwrap_or_default();
            format!(
                "{looked_at} each was planned within {} of an even schedule{late}.",
                Bound::Upper.duration(off)
            )
        }
        (_, Some(planned), Some(sent)) => {
            format!(
                "{looked_at} the gaps are held against a Poisson process{within}: planned {planned}; sent {sent}{late}."
            )
        }
        _ => format!("{looked_at} the gaps are too few to tell whether it is a Poisson process{late}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::{ArrivalProcess, ExponentialTest, LoadKind};

    #[test]
    fn a_sentence_for_each_process() {
        let test =
            |a2, p_value| Some(ExponentialTest { gaps: 959, a2, p_value, distance: 0.01, correlation: 0.0 });
        let mut doc = fixture::stall();
        doc.loads[0].plan.kind = LoadKind::Open {
            process: Process::Poisson { seed: 1 },
            phases: Vec::new(),
            start_ns: 0,
            only: Vec::new(),
        };
        doc.loads[0].arrival_process = Some(ArrivalProcess {
            arrivals: 960,
            intended: ArrivalTimes { exponential: test(0.8149, 0.468_31), deviation_ns_max: None },
            sent: ArrivalTimes { exponential: test(21.0, 0.0), deviation_ns_max: Some(1_200_000) },
        });
        let text = |doc: &RunDocument| format::plain(&arrivals(doc).concat());
        assert_eq!(
            text(&doc),
            "Of 960 arrivals looked at the gaps are held against a Poisson process: planned A² 0.81, p 46.8 %; \
             sent A² 21, p below 0.01 %; none of these was sent more than 1.20 ms after its time."
        );
        let LoadKind::Open { process, .. } = &mut doc.loads[0].plan.kind else { unreachable!("set above") };
        *process = Process::Bursty { seed: 1, peak: 5.0, on_ns: 1, off_ns: 5 };
        assert!(
            text(&doc).contains("a Poisson process in the bursts that were drawn: planned"),
            "{}",
            text(&doc)
        );
        let process = doc.loads[0].arrival_process.as_mut().expect("set above");
        process.sent.exponential = None;
        assert!(text(&doc).contains("too few to tell"), "{}", text(&doc));
        let process = doc.loads[0].arrival_process.as_mut().expect("set above");
        process.intended = ArrivalTimes { exponential: None, deviation_ns_max: Some(1) };
        doc.loads[0].plan.kind =
            LoadKind::Open { process: Process::Even, phases: Vec::new(), start_ns: 0, only: Vec::new() };
        assert_eq!(
            text(&doc),
            "Of 960 arrivals looked at each was planned within 1 ns of an even schedule; none of these was sent more than \
             1.20 ms after its time."
        );
        let mut other = doc.loads[0].clone();
        for (load, name) in [(&mut doc.loads[0], "base"), (&mut other, "spike")] {
            load.plan.name = Some(name.into());
        }
        doc.loads.push(other);
        let said = arrivals(&doc);
        assert!(said[0].starts_with("base: Of ") && said[1].starts_with("spike: Of "), "{said:?}");
        doc.loads.iter_mut().for_each(|load| load.arrival_process = None);
        assert!(arrivals(&doc).is_empty());
    }
}
