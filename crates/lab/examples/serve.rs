//! A bare lab server for measuring it with other tools; runs until its standard input ends.
//!
//! `cargo run --release -p unblink-lab --example serve [scenario [port [baseline_us [truth_log]]]]`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::Read;

use unblink_lab::{Baseline, Scenario, ServerConfig, spawn};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "healthy".to_owned());
    let mut config = ServerConfig::new(Scenario::preset(&name).ok_or("unknown scenario")?);
    if let Some(port) = arguments.next() {
        config.listen.set_port(port.parse()?);
    }
    if let Some(us) = arguments.next() {
        config.scenario.baseline = Baseline::Constant { delay_ns: us.parse::<u64>()? * 1_000 };
    }
    config.truth_log = arguments.next().map(Into::into);
    println!("{}", config.scenario.describe());
    let server = spawn(config)?;
    println!("http://{}", server.local_addr());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{:?}", server.stop()?);
    Ok(())
}
