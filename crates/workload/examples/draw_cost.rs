//! What a draw of each law takes on this machine: `cargo run --release -p unblink-workload --example draw_cost`.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use unblink_core::arrival::Key;
use unblink_workload::{Drawing, Draws, Source};

const LAWS: [&str; 21] = [
    "constant(4KiB)",
    "sequential(1M)",
    "uniform(1M)",
    "zipf(1k)",
    "zipf(1M)",
    "zipf(1T)",
    "zipf(1M, s=1)",
    "hotspot(1M)",
    "latest(1M)",
    "lognormal(4KiB, 1.2, max=1MiB)",
    "exponential(4KiB)",
    "histogram(weights)",
    "list(rows, sequential)",
    "list(rows, shuffled)",
    "list(rows, random)",
    "list(rows, once)",
    "ycsb_zipfian(1M)",
    "ycsb_scrambled(1M)",
    "ycsb_latest(1M)",
    "ycsb_hotspot(1M)",
    "ycsb_exponential(1M)",
];
/// So few that other work of the machine rarely comes in between.
const DRAWS: u64 = 10_000;
const TIMES: u64 = 100;

fn main() {
    for text in LAWS {
        let source = Source::parse(text, &mut |file| {
            let lines = (0..1_000_000)
                .map(|n| if file == "rows" { format!("{n}\n") } else { format!("{n},{}\n", n % 97) });
            Ok(Box::new(std::io::Cursor::new(lines.collect::<String>())))
        })
        .expect(text);
        let seed = Draws::seed_of(1, "cost");
        let mut out = Vec::with_capacity(64);
        let mut time = |writes: bool, round: u64| {
            let start = Instant::now();
            for unit in round * DRAWS..(round + 1) * DRAWS {
                let drawing = Drawing { key: Key::single(unit), ordinal: unit, inserted: unit / 20 };
                let drawn = black_box(source.draw(seed, &drawing)).expect("a value");
                if writes {
                    out.clear();
                    source.write(drawn, None, &mut out);
                    black_box(&out);
                }
            }
            start.elapsed().as_nanos() as f64 / DRAWS as f64
        };
        let mut least = |writes| (0..TIMES).map(|round| time(writes, round)).fold(f64::INFINITY, f64::min);
        println!("{text:32} {:6.1} ns drawn {:6.1} ns drawn and written", least(false), least(true));
    }
}
