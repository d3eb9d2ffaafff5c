//! Expressions: what each means in words, what is wrong with those that mean nothing, and that no text makes the reader panic.

use proptest::prelude::*;
use unblink_workload::{Source, SourceError};

fn parse(text: &str) -> Result<Source, SourceError> {
    Source::parse(text, &mut |_| Ok(Box::new(std::io::Cursor::new("name,age\nann,3\nbob,4\n"))))
}

#[test]
fn each_law_says_what_it_is() {
    for (text, words) in [
        ("zipf(1M)", "zipf over 1\u{202f}000\u{202f}000 keys, exponent 0.99"),
        ("zipf(n=10, s=1.2, from=5)", "zipf over 10 keys, exponent 1.2, from 5"),
        ("uniform(100)", "uniform from 0 to 99"),
        ("uniform(1, 100)", "uniform from 1 to 100"),
        ("uniform(first=1, last=6)", "uniform from 1 to 6"),
        ("uniform(100, from=1000)", "uniform from 1\u{202f}000 to 1\u{202f}099"),
        (
            "hotspot(1M, keys=20%, draws=80%)",
            "hot spot: 200\u{202f}000 of 1\u{202f}000\u{202f}000 keys get 80 % of the draws",
        ),
        ("sequential", "one after another without end"),
        ("sequential(10)", "one after another of 10 keys"),
        (
            "latest(1k)",
            "zipf from the newest backwards, exponent 0.99, over 1\u{202f}000 keys and those inserted since",
        ),
        ("constant(4KiB)", "always 4\u{202f}096"),
        ("lognormal(4KiB, 1.2)", "lognormal, median 4\u{202f}096, σ of ln 1.2"),
        (
            "lognormal(4KiB, 1.2, max=64KiB)",
            "lognormal, median 4\u{202f}096, σ of ln 1.2, drawn again above 65\u{202f}536 (1.04 % of draws)",
        ),
        ("exponential(100, max=99)", "exponential, mean 100, drawn again above 99 (36.97 % of draws)"),
        ("csv(users.csv)", "2 rows of users.csv, one after another"),
        ("csv(users.csv, order=once)", "2 rows of users.csv, each once"),
        ("list(colours.txt, shuffled)", "3 rows of colours.txt, in a new random order in each pass"),
        ("list([a, b], random)", "2 rows of the list, each at random"),
        ("[\"a\", \"b\", \"c\"]", "3 rows of the list, one after another"),
        ("ycsb_zipfian(1M)", "YCSB's zipfian over 1\u{202f}000\u{202f}000 keys, θ 0.99"),
        ("ycsb_scrambled(1M)", "YCSB's scrambled zipfian over 1\u{202f}000\u{202f}000 keys"),
        ("ycsb_latest(1k)", "YCSB's latest over 1\u{202f}000 keys and those inserted since, θ 0.99"),
        ("ycsb_hotspot(10)", "YCSB's hot spot: the first 2 of 10 keys get 80 % of the draws"),
        (
            "ycsb_exponential(1000)",
            "YCSB's exponential: 286 keys behind the newest on average, over 1\u{202f}000 keys and those inserted since",
        ),
    ] {
        assert_eq!(parse(text).expect(text).describe(), words, "{text}");
    }
}

/// The bytes that an error points at, and its words.
#[test]
fn each_mistake_has_its_own_words() {
    for (text, place, words) in [
        ("zipf(0)", "0", "`n` is 0: nothing can be drawn from no keys"),
        ("zipf()", "zipf()", "`n` is missing: zipf(n, s=0.99, from=0)"),
        ("zipf(1M, s=0)", "0", "`s` must be above 0; write uniform(n)"),
        ("zipf(1M, s=-1)", "-1", "`s` must be above 0"),
        ("zipf(1M, s=50)", "50", "`s` is at most 10"),
        ("zipf(1M, s=nan)", "nan", "`s`: `nan` is not a number such as 0.99"),
        ("zipf(2T)", "2T", "`n` is too large: at most 1\u{202f}000\u{202f}000\u{202f}000\u{202f}000 keys"),
        ("zipf(1M, 0.99, 0, 7)", "7", "one argument too many: zipf(n, s=0.99, from=0)"),
        ("zipf(1M, n=2)", "n", "`n` is given twice"),
        ("zipf(1M, form=2)", "form", "no argument `form`, did you mean `from`? zipf(n, s=0.99, from=0)"),
        ("zipf(n=1M, 2)", "2", "an argument without a name follows one with a name"),
        ("zipf([1])", "[1]", "`n` can't be a list: zipf(n, s=0.99, from=0)"),
        ("zipf(99999999999999999999)", "99999999999999999999", "too large: numbers end at 2^64 − 1"),
        ("zipf(5, from=18446744073709551612)", "18446744073709551612", "the last key would be too large"),
        ("zip(1M)", "zip", "there is no function `zip`, did you mean `zipf`?"),
        ("Zipf(1M)", "Zipf", "did you mean `zipf`?"),
        ("pareto(1M)", "pareto", "there is no function `pareto`; there are uniform, zipf, hotspot,"),
        ("4KiB", "4KiB", "there is no function `4KiB`"),
        ("uniform(100, 1)", "1", "1 is less than 100: write the lower end first"),
        ("uniform(1, 100, from=1)", "1", "write either uniform(n, from=0) or uniform(first, last)"),
        ("uniform(first=1)", "1", "`first` needs `last`"),
        ("uniform(last=1)", "uniform(last=1)", "`first` is missing"),
        ("uniform(0, 18446744073709551615)", "18446744073709551615", "too many numbers"),
        ("hotspot(10, keys=200%)", "200%", "`keys`: `200%` is not a share"),
        ("hotspot(10, keys=1%)", "1%", "`keys`: no key of 10 would be hot"),
        ("hotspot(10, keys=100%)", "100%", "`keys`: every key of 10 would be hot"),
        ("lognormal(4KiB)", "lognormal(4KiB)", "`sigma` is missing: lognormal(median, sigma, max=)"),
        ("lognormal(4KiB, 0)", "0", "`sigma` must be above 0"),
        ("lognormal(4KiB, 9)", "9", "`sigma` is so large that draws may pass 2^62; give a `max`"),
        ("lognormal(4KiB, 1, max=100)", "100", "`max` is so low that 99.99 % would be drawn again"),
        ("exponential(0)", "0", "`mean` must be above 0"),
        ("exponential(1M, max=5)", "5", "`max` is so low that 100.00 % would be drawn again"),
        ("constant(1.5)", "1.5", "`value`: `1.5` is not a whole number"),
        ("csv(users.csv, shufled)", "shufled", "there is no order `shufled`, did you mean `shuffled`?"),
        ("csv()", "csv()", "`file` is missing: csv(file, order)"),
        ("csv([a])", "[a]", "`file` can't be a list"),
        ("list([])", "[]", "the list is empty"),
        ("[]", "[]", "the list is empty"),
        ("ycsb_latest(3)", "3", "`n` must be at least 4: YCSB's formula means nothing below"),
        ("sequential(from=18000000T)", "18000000T", "the last key would be too large"),
        ("exponential(1000000T)", "1000000T", "`mean` is so large that draws may pass 2^62; give a `max`"),
        ("ycsb_zipfian(5, theta=1)", "1", "`theta` must lie between 0 and 1"),
        ("ycsb_scrambled(5, coming=496)", "496", "`coming` is more than 99 times `n`"),
        ("ycsb_latest(5, inserts=some)", "some", "neither expected nor acknowledged"),
        ("ycsb_hotspot(4)", "ycsb_hotspot(4)", "`keys` makes no key hot"),
        ("ycsb_exponential(4, percentile=1)", "1", "`percentile` must lie between 0% and 100%"),
        ("ycsb_exponential(4, percentile=0.1%)", "0.1%", "`percentile` is below 1%"),
        ("histogram()", "histogram()", "`file` is missing: histogram(file)"),
        ("zipf(1M", "(1M", "`(` is not closed; add `)`"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(&text[error.range.clone()], place, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn an_error_of_a_file_names_it_and_the_line() {
    let error = parse("histogram(h.csv)").expect_err("names are no weights");
    assert_eq!(
        error.to_string(),
        "h.csv:1: the value is not a whole number from 0 on, such as 1000, 10k or 4KiB"
    );
    assert_eq!(error.range, 10..15);
    let error = Source::parse("csv(gone.csv)", &mut |_| Err(std::io::ErrorKind::NotFound.into()));
    assert_eq!(error.expect_err("no file").to_string(), "gone.csv: can't be opened: entity not found");
}

#[test]
fn what_a_source_needs_is_said() {
    let needs = |text: &str| {
        let needs = parse(text).expect(text).needs();
        (needs.ordinal, needs.inserted)
    };
    for text in ["zipf(5)", "uniform(5)", "constant(5)", "csv(a, random)", "ycsb_scrambled(5)"] {
        assert_eq!(needs(text), (false, false), "{text}");
    }
    for text in ["sequential", "csv(a)", "csv(a, shuffled)", "csv(a, once)", "[a]"] {
        assert_eq!(needs(text), (true, false), "{text}");
    }
    for text in ["latest(5)", "ycsb_latest(5)", "ycsb_exponential(5)", "ycsb_scrambled(5, coming=5)"] {
        assert_eq!(needs(text), (false, true), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_errors_lie_within_it(text in ".{0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.range.clone()).is_some(), "{error:?}");
        }
    }

    #[test]
    fn no_heap_of_pieces_panics(pieces in prop::collection::vec(prop::sample::select(vec![
        "zipf", "uniform", "csv", "list", "lognormal", "hotspot", "sequential", "latest", "ycsb_latest", "histogram",
        "(", "(", ")", ")", "[", "]", ",", ",", "=", "n", "s", "from", "keys", "max", "order", "once", "0", "1", "10k",
        "1M", "4KiB", "30%", "0.99", "-1", "18446744073709551615", "99999999999999999999999", "\"", "'", "\\", " ", "ä",
    ]), 0..14)) {
        let text = pieces.concat();
        match parse(&text) {
            Ok(source) => prop_assert!(!source.describe().is_empty()),
            Err(error) => prop_assert!(text.get(error.range.clone()).is_some(), "{error:?}"),
        }
    }

    #[test]
    fn spaces_names_and_underscores_change_nothing(n in 1u64..1_000_000_000, s in 1u32..1_000) {
        let s = f64::from(s) / 100.0;
        let plain = parse(&format!("zipf({n},{s})")).expect("a source");
        let spaced = parse(&format!(" zipf ( s = {s} , n = {}_ , ) ", n)).expect("a source");
        prop_assert_eq!(&plain, &spaced);
        let said = plain.describe().replace([',', '\u{202f}'], "");
        prop_assert_eq!(said, format!("zipf over {n} keys exponent {s}"));
    }
}
