//! Properties over generated answers: exact outcomes for well-formed ones at any cuts, and for mutated
//! ones no panic, no over-reading and independence from the cuts.

mod support;

use proptest::prelude::*;
use support::{answers, mutations};
use unblink_wire::fuzzing::{check, drive};
use unblink_wire::{Limits, Parser, ProtocolError};

/// More cases on demand: `PROPTEST_CASES=1000000`.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(2_000), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_well_formed_answer_reads_as_built(
        answer in answers(),
        lens in proptest::collection::vec(1usize..80, 1..20),
    ) {
        let mut lens = lens.iter().cycle();
        let mut parser = Parser::new(Limits::default());
        let outcome = drive(&mut parser, answer.kind, &answer.bytes, || *lens.next().unwrap());
        prop_assert_eq!(&outcome, &answer.expected);
        // The same parser again, as on a kept connection, with all bytes at once.
        let outcome = drive(&mut parser, answer.kind, &answer.bytes, || answer.bytes.len());
        prop_assert_eq!(&outcome, &answer.expected);
    }

    #[test]
    fn a_mutated_answer_breaks_no_invariant(
        answer in answers(),
        mutations in mutations(),
        choice in 0u8..6,
        seed in any::<u8>(),
    ) {
        let mut input = answer.bytes;
        for mutation in &mutations {
            mutation.apply(&mut input);
        }
        input.splice(0..0, [b'0' + choice, seed]);
        check(&input);
    }

    #[test]
    fn noise_breaks_no_invariant(mut input in proptest::collection::vec(any::<u8>(), 2..200), http in any::<bool>()) {
        if http {
            input.splice(2..2, *b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        }
        check(&input);
    }

    #[test]
    fn every_proper_prefix_wants_more(answer in answers(), cut in any::<prop::sample::Index>()) {
        let consumed = answer.expected.consumed.unwrap();
        let cut = cut.index(consumed);
        let mut parser = Parser::new(Limits::default());
        let outcome = drive(&mut parser, answer.kind, &answer.bytes[..cut], || cut);
        match outcome.result {
            // A body until close ends wherever the close comes.
            Ok(response) => prop_assert!(!response.reusable && outcome.consumed == Some(cut)),
            Err(error) => prop_assert!(error.is_closed_early(), "{error:?}"),
        }
        prop_assert!(answer.expected.body.starts_with(&outcome.body));
    }

    #[test]
    fn limits_are_exact(answer in answers()) {
        let expected = answer.expected.result.unwrap();
        let outcome = |limits| {
            drive(&mut Parser::new(limits), answer.kind, &answer.bytes, || 7).result
        };
        let exact = Limits { body_bytes_max: expected.body_bytes, ..Limits::default() };
        prop_assert_eq!(outcome(exact), Ok(expected));
        if expected.body_bytes > 0 {
            let below = Limits { body_bytes_max: expected.body_bytes - 1, ..exact };
            prop_assert_eq!(outcome(below), Err(ProtocolError::BodyTooLarge));
        }
    }
}
