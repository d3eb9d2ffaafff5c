//! Rows: in the order that is asked for, whoever draws them; and files as they come, faulty ones too.

use proptest::prelude::*;
use unblink_core::arrival::Key;
use unblink_workload::{Drawing, Draws, Source};

fn reading(text: &str, file: impl AsRef<[u8]>) -> Result<Source, String> {
    let file = file.as_ref().to_vec();
    Source::parse(text, &mut |_| Ok(Box::new(std::io::Cursor::new(file.clone()))))
        .map_err(|error| error.to_string())
}

/// Each arrival has another key and the next ordinal.
fn row(source: &Source, seed: u64, ordinal: u64) -> Option<u64> {
    source.draw(seed, &Drawing { key: Key::single(ordinal.wrapping_mul(77)), ordinal, inserted: 0 })
}

fn rows(source: &Source, seed: u64, ordinals: impl IntoIterator<Item = u64>) -> Vec<u64> {
    ordinals.into_iter().map_while(|ordinal| row(source, seed, ordinal)).collect()
}

fn field(source: &Source, row: u64, column: Option<u32>) -> String {
    let mut out = Vec::new();
    source.write(row, column, &mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn listing(order: &str, values: u64) -> Source {
    let text: String = (0..values).map(|value| format!("v{value}\n")).collect();
    reading(&format!("list(values.txt, {order})"), text).expect("a list")
}

#[test]
fn sequential_goes_round_and_once_ends() {
    assert_eq!(rows(&listing("sequential", 3), 1, 0..7), [0, 1, 2, 0, 1, 2, 0]);
    let once = listing("once", 3);
    assert_eq!(rows(&once, 1, 0..7), [0, 1, 2]);
    assert_eq!([3, 4, u64::MAX].map(|ordinal| row(&once, 1, ordinal)), [None; 3]);
}

#[test]
fn each_pass_of_shuffled_has_every_row_once_in_another_order() {
    for values in [1, 2, 5, 32, 33, 100, 1_000] {
        let source = listing("shuffled", values);
        let passes: Vec<Vec<u64>> =
            (0..20).map(|pass| rows(&source, 1, pass * values..(pass + 1) * values)).collect();
        for pass in &passes {
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..values).collect::<Vec<_>>(), "{values}");
        }
        if values >= 32 {
            assert!(passes.windows(2).all(|pair| pair[0] != pair[1]), "{values}");
            assert_ne!(passes[0], rows(&source, 2, 0..values), "another seed");
        }
    }
}

/// The rows that workers draw, each for its own arrivals, are together those that one worker draws.
#[test]
fn any_number_of_workers_draws_the_same_rows() {
    for order in ["sequential", "shuffled", "random", "once"] {
        let source = listing(order, 1_000);
        let alone = rows(&source, 9, 0..1_000);
        for workers in [2, 3, 7] {
            let mut together = vec![0; 1_000];
            for worker in 0..workers {
                // Each has a copy of its own, as on another machine.
                let copy = listing(order, 1_000);
                for ordinal in (worker..1_000).step_by(workers as usize) {
                    together[ordinal as usize] = row(&copy, 9, ordinal).expect("a row");
                }
            }
            assert_eq!(together, alone, "{order}, {workers}");
        }
    }
}

#[test]
fn random_rows_are_independent_and_as_likely() {
    let source = listing("random", 10);
    let seed = Draws::seed_of(1, "user");
    let mut pairs = [0u32; 100];
    let drawn = rows(&source, seed, 0..100_000);
    drawn.windows(2).step_by(2).for_each(|pair| pairs[(pair[0] * 10 + pair[1]) as usize] += 1);
    let chi2: f64 = pairs.iter().map(|count| (f64::from(*count) - 500.0).powi(2) / 500.0).sum();
    // With 99 degrees of freedom, one in 100,000 tests exceeds this.
    assert!(chi2 < 167.0, "{chi2}");
}

#[test]
fn csv_has_columns_quotes_and_line_breaks() {
    let file = "\u{feff}id, name ,note\r\n1,ann,\"a, b\"\r\n\r\n2,\"b\"\"ob\",\"two\nlines\"\r\n3,,\n";
    let source = reading("csv(users.csv)", file).expect("a file");
    assert_eq!(source.columns(), ["id", "name", "note"]);
    assert_eq!(source.distinct(), Some(3));
    assert!(!source.is_number());
    let column = source.column("note").ok();
    assert_eq!(column, Some(2));
    assert_eq!([0, 1, 2].map(|row| field(&source, row, column)), ["a, b", "two\nlines", ""]);
    assert_eq!(field(&source, 1, source.column("name").ok()), "b\"ob");
    assert_eq!(field(&source, 2, None), "3");
    assert_eq!(
        source.column("nam"),
        Err("users.csv:1: no column is called `nam`, did you mean `name`? There are `id`, `name`, `note`"
            .into())
    );
}

#[test]
fn json_lines_keep_values_as_written() {
    let file = "{\"id\": 1.50, \"name\": \"a\\u0062\\n\", \"on\": null}\n\n\
                {\"name\": \"x\", \"more\": 1, \"id\": 123456789012345678901234567890, \"on\": {\"a\": [1]}}";
    let source = reading("jsonl(users.jsonl)", file).expect("a file");
    assert_eq!(source.columns(), ["id", "name", "on"]);
    let all = |row| [0, 1, 2].map(|column| field(&source, row, Some(column)));
    assert_eq!(all(0), ["1.50", "ab\n", "null"]);
    assert_eq!(all(1), ["123456789012345678901234567890", "x", "{\"a\": [1]}"]);
}

#[test]
fn lists_are_lines_or_stand_in_the_expression() {
    let file = reading("list(words.txt)", "\u{feff}one\r\n\r\n two \nthree").expect("a list");
    assert_eq!([0, 1, 2].map(|row| field(&file, row, None)), ["one", " two ", "three"]);
    assert_eq!((file.distinct(), file.columns().len()), (Some(3), 0));
    assert_eq!(file.column("x"), Err("words.txt has no columns: its rows are single values".into()));
    let inline = reading("[\"a\", 'b c', 7]", "").expect("a list");
    assert_eq!([0, 1, 2].map(|row| field(&inline, row, None)), ["a", "b c", "7"]);
    let number = reading("zipf(5)", "").expect("a law");
    assert_eq!(number.column("x"), Err("this value is a number, and has no column `x`".into()));
    assert_eq!(
        [0, 7, 10, u64::MAX].map(|n| field(&number, n, None)),
        ["0", "7", "10", "18446744073709551615"]
    );
}

#[test]
fn faulty_files_say_where_and_why() {
    for (text, file, words) in [
        ("csv(f)", &b""[..], "f: is empty; its first line names the columns"),
        ("csv(f)", b"\n\n", "f: is empty"),
        ("csv(f)", b"a,b\n", "f: has a line with the names of columns, and no rows"),
        ("csv(f)", b"a,b,a\n1,2,3\n", "f:1: columns 1 and 3 are both called `a`"),
        ("csv(f)", b"a,b\n1,2\n3\n", "f:3: this row has 1 field, the first line has 2"),
        ("csv(f)", b"a,b\n\"x\ny\",2\n3,4,5\n", "f:4: this row has 3 fields, the first line has 2"),
        ("csv(f)", b"a,b\n1,2\n3,\xff\n", "f:3: column `b`: this is not UTF-8"),
        ("csv(f)", b"a,\xff\n1,2\n", "f:1: this is not UTF-8"),
        (
            "csv(f)",
            b"a,b\n1,2\n3,\"x\n4,5\n",
            "f:3: the quote at the beginning of a field in this line is never closed",
        ),
        ("csv(f)", b"a,b\n1,\"x\n2,y\n3,\"z\"\n", "f:2: a field begins with a quote here, and goes on after"),
        ("jsonl(f)", b"", "f: has no lines; write an object in each"),
        ("jsonl(f)", b"{}\n", "f:1: the first object is empty"),
        ("jsonl(f)", b"{\"a\":1}\n[1]\n", "f:2: this is not a JSON object (column 0)"),
        ("jsonl(f)", b"{\"a\":1}\n{\"a\":\n", "f:2: this is not a JSON object (column 5)"),
        ("jsonl(f)", b"{\"a\":1} x\n", "f:1: this is not a JSON object (column 9)"),
        ("jsonl(f)", b"{\"a\":1,\"b\":2}\n{\"b\":1}\n", "f:2: `a` is missing; the first object has `a`, `b`"),
        ("jsonl(f)", b"{\"a\":1,\"a\":2}\n", "f:1: columns 1 and 2 are both called `a`"),
        ("jsonl(f)", b"{\"a\":\"\\ud800\"}\n", "f:1: `a`: this stands for no text"),
        ("jsonl(f)", b"\xff\n", "f:1: this is not UTF-8"),
        ("list(f)", b" \n\n", "f: has no lines; write a value in each"),
        ("list(f)", b"a\n\xff\n", "f:2: this is not UTF-8"),
    ] {
        let error = reading(text, file).expect_err(words);
        assert!(error.starts_with(words), "{error}\n{words}");
    }
}

#[test]
fn a_file_that_breaks_off_is_no_file() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    for text in ["csv(f)", "jsonl(f)", "list(f)", "histogram(f)"] {
        let error = Source::parse(text, &mut |_| Ok(Box::new(Broken))).expect_err(text);
        assert_eq!(error.to_string(), "f: can't be read: the disk is gone", "{text}");
    }
}

proptest! {
    /// Fields of any characters, written and read by the `csv` crate, are the same here.
    #[test]
    fn csv_rows_are_those_of_the_csv_crate(
        rows in (1usize..5).prop_flat_map(|width| prop::collection::vec(
            prop::collection::vec("[a-z,\"' \n\r;é]{0,6}", width), 1..20,
        )),
    ) {
        let width = rows[0].len();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record((0..width).map(|column| format!("c{column}"))).expect("a header");
        rows.iter().for_each(|row| writer.write_record(row).expect("a row"));
        let bytes = writer.into_inner().expect("bytes");
        let records: Vec<csv::StringRecord> =
            csv::Reader::from_reader(&bytes[..]).records().collect::<Result<_, _>>().expect("records");
        let source = reading("csv(f)", &bytes).expect("a file");
        prop_assert_eq!(source.distinct(), Some(records.len() as u64));
        for (at, record) in (0u64..).zip(&records) {
            for (column, wanted) in (0u32..).zip(record) {
                prop_assert_eq!(field(&source, at, Some(column)), wanted);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        for text in ["csv(f)", "jsonl(f)", "list(f)", "histogram(f)"] {
            if let Ok(source) = reading(text, &bytes) {
                prop_assert!(row(&source, 1, 0).is_some());
            }
        }
    }
}
