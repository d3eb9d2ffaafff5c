//! Objectives as they are written: whatever is written is read again, and no text makes it panic.

use proptest::prelude::*;
use unblink_analysis::slo::*;
use unblink_core::time::Nanos;

proptest! {
    #[test]
    fn any_objective_is_read_back(
        name in proptest::option::of("[A-Za-z][A-Za-z /:]{0,8}[a-z]"),
        milli_percent in 1u32..99_999,
        limit_us in 1u64..3_600_000_000,
        at_most in any::<bool>(),
        windows in proptest::option::of((1u32..=1_000, 1u64..3_600)),
    ) {
        let slo = Slo {
            measure: Default::default(),
            name,
            objective: Objective {
                figure: Figure::Quantile(format!("{milli_percent}e-5").parse().unwrap()),
                relation: if at_most { Relation::AtMost } else { Relation::Below },
                limit: limit_us as f64 * 1e3,
            },
            windows: windows.map(|(permille, s)| Windows {
                share: format!("{permille}e-3").parse().unwrap(),
                length: Nanos::from_secs(s),
            }),
        };
        let text = slo.to_string();
        let read = Slo::parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert!((read.objective.limit - slo.objective.limit).abs() < 1.0, "{}", text);
        prop_assert_eq!(&read.name, &slo.name);
        prop_assert_eq!(read.objective.figure, slo.objective.figure);
        prop_assert_eq!(read.windows, slo.windows);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}") {
        for error in [Slo::parse(&text).err(), AbortRule::parse(&text).err()].into_iter().flatten() {
            prop_assert!(error.at.start <= error.at.end && error.at.end <= text.len());
            prop_assert!(text.is_char_boundary(error.at.start) && text.is_char_boundary(error.at.end));
        }
    }
}
