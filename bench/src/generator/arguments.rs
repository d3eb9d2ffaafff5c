//! Each tool's own words for the same load.

use super::{Generator, Tool, Way};
use anyhow::{Context, Result};
use std::path::Path;

/// A load to be offered.
#[derive(Clone, Debug)]
pub(crate) struct Job<'a> {
    /// `http://HOST:PORT/` or `https://…`.
    pub url: &'a str,
    pub seconds: u64,
    /// Kept alive, or in use at once; a tool with connections on demand takes as many as it needs at a rate.
    pub connections: u64,
    /// Requests per second; `None`: each connection asks again when it is answered.
    pub rate_per_s: Option<u64>,
    /// The server closes each connection after one answer.
    pub is_fresh: bool,
    /// An empty folder for what the tool reads and writes.
    pub folder: &'a Path,
}

impl Generator {
    /// The whole command for `job`, or `None` when the tool can't do it. Writes the files that it needs.
    pub(crate) fn command(&self, job: &Job<'_>) -> Result<Option<Vec<String>>> {
        let program = self.program.to_str().context("a path that is not text")?;
        let folder = job.folder.to_str().context("a path that is not text")?;
        let file = |name: &str| format!("{folder}/{name}");
        let (url, c, s) = (job.url, job.connections.to_string(), job.seconds.to_string());
        let is_tls = url.starts_with("https:");
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let rate = job.rate_per_s.map(|rate| rate.to_string());
        let time = format!("{s}s");
        let flag = |on: bool, words: &'static str| if on { words } else { "" };
        let line = match (self.tool, rate) {
            (Tool::Unblink(way), rate) => {
                let load = rate.map_or(format!("--closed {c}"), |rate| format!("-R {rate}"));
                let mode = match way {
                    Way::Plain => String::new(),
                    // Where processor time is compared at a rate, with as many connections as the others.
                    Way::Pacing("frugal") if job.rate_per_s.is_some() => format!("--pacing frugal -c {c}"),
                    Way::Pacing(mode) => format!("--pacing {mode}"),
                    Way::Threads(threads) => format!("--pacing frugal -c {c} -t {threads}"),
                };
                let insecure = flag(is_tls, "-k");
                let out = file("run");
                format!("run {url} {load} -d {time} --no-preflight {mode} {insecure} -q --json -o {out}")
            }
            (Tool::Raw, None) if !is_tls && !job.is_fresh => format!("raw {address} -c {c} -d {s}"),
            (Tool::Pace, Some(rate)) if !is_tls => format!("pace {address} -c {c} -d {s} -R {rate}"),
            (Tool::Wrk, None) => format!("-t1 -c{c} -d{time} {url}"),
            // It has no closed loop: a rate that nothing reaches is one.
            (Tool::Wrk2, rate) => {
                let rate = rate.unwrap_or("10000000".into());
                format!("-t1 -c{c} -d{time} -R{rate} --latency {url}")
            }
            (Tool::Ab, None) => {
                // -t alone would stop after 50,000 requests; it keeps room for each of -n.
                let keep = flag(!job.is_fresh, "-k");
                format!("-q {keep} -c {c} -t {s} -n {} {url}", 400_000 * job.seconds)
            }
            (Tool::Hey, None) => {
                format!("-z {time} -c {c} {} {url}", flag(job.is_fresh, "-disable-keepalive"))
            }
            (Tool::H2load, None) if !job.is_fresh => format!("--h1 -t 1 -c {c} -D {s} {url}"),
            (Tool::Bombardier, rate) => {
                let rate = rate.map_or(String::new(), |rate| format!("--rate {rate}"));
                format!("-c {c} -d {time} {rate} {} --print r {url}", flag(is_tls, "--insecure"))
            }
            (Tool::Oha, rate) => {
                let rate = rate.map_or(String::new(), |rate| format!("-q {rate} --latency-correction"));
                let fresh = flag(job.is_fresh, "--disable-keepalive");
                let insecure = flag(is_tls, "--insecure");
                format!("-z {time} -c {c} {rate} {fresh} {insecure} --no-tui --output-format json {url}")
            }
            (Tool::Vegeta, rate) => {
                std::fs::write(file("targets"), format!("GET {url}\n"))?;
                let load = match rate {
                    Some(rate) => format!("-rate={rate}/1s"),
                    None => {
                        format!("-rate=0 -workers={c} -max-workers={c} -connections={c} -max-connections={c}")
                    }
                };
                let fresh = flag(job.is_fresh, "-keepalive=false");
                let insecure = flag(is_tls, "-insecure");
                let (targets, out) = (file("targets"), file("results.bin"));
                format!("attack -targets={targets} {load} -duration={time} {fresh} {insecure} -output={out}")
            }
            (Tool::K6, rate) => {
                std::fs::write(file("script.js"), k6_script(job, rate))?;
                // The percentiles that the lab's definition reads.
                let trend = "avg,p(50),p(90),p(95),p(99),p(99.9),p(99.99),max,count";
                let (summary, script) = (file("summary.json"), file("script.js"));
                format!(
                    "run --quiet --no-usage-report --summary-trend-stats {trend} --summary-export {summary} {script}"
                )
            }
            (Tool::Fortio, rate) => {
                let load = rate.map_or("-qps 0".into(), |rate| format!("-qps {rate} -uniform"));
                let fresh = flag(job.is_fresh, "-keepalive=false");
                let insecure = flag(is_tls, "-k");
                let out = file("result.json");
                format!(
                    "load -quiet -c {c} {load} -t {time} {fresh} {insecure} -p 50,95,99,99.9 -json {out} {url}"
                )
            }
            _ => return Ok(None),
        };
        // No word of these has a space in it: the folder is ours.
        Ok(Some(std::iter::once(program).chain(line.split_whitespace()).map(str::to_string).collect()))
    }
}

fn k6_script(job: &Job<'_>, rate: Option<String>) -> String {
    let (s, c, url) = (job.seconds, job.connections, job.url);
    let scenario = match rate {
        None => format!("executor: 'constant-vus', vus: {c}, duration: '{s}s'"),
        Some(rate) => format!(
            "executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{s}s', preAllocatedVUs: {c}, maxVUs: 12000"
        ),
    };
    format!(
        "import http from 'k6/http';
export const options = {{
  discardResponseBodies: true, insecureSkipTLSVerify: true, noConnectionReuse: {},
  scenarios: {{ load: {{ {scenario} }} }},
}};
export default function () {{ http.get('{url}'); }}
",
        job.is_fresh
    )
}
