//! What is refused before anything listens, and what is mirrored.

use super::target;
use crate::args::mirror::MirrorArgs;
use crate::errors::refuse;
use crate::guard::{Guard, Terms};
use crate::run::guards::{self, Guards};
use crate::{config, secrets};
use anyhow::{Context, Result, bail};
use std::net::TcpListener;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_engine::limits::Limits;
use unblink_engine::mirror::{Bounds, Mirror};
use unblink_engine::tls::TlsOptions;

/// Connections of those who mirror, at the most.
const CLIENTS_MAX: usize = 4_096;

/// What is ready to begin.
pub(super) struct Prepared {
    pub(super) mirror: Mirror,
    /// Of targets, as they may be shown.
    pub(super) shown: Vec<String>,
    pub(super) guards: Guards,
}

/// Everything that can be refused is, before anything listens.
pub(super) fn prepare(args: &MirrorArgs, limits: &Limits) -> Result<Prepared> {
    if !args.listen.ip().is_loopback() && !args.listen_anywhere {
        refuse!(
            ["listen"],
            "--listen {}: other machines reach it, and whoever does can send requests to your targets; listen on 127.0.0.1, \
             or add --listen-anywhere",
            args.listen
        );
    }
    if args.timeout.0 == 0 || args.length.is_some_and(|length| length.0 == 0) {
        bail!("--timeout and --for must be longer than nothing");
    }
    args.tls.check()?;
    let headers = headers(args)?;
    let guard = Guard::read()?;
    let all = [
        ("baseline", Some(&args.baseline)),
        ("candidate", Some(&args.candidate)),
        ("noise", args.noise.as_ref()),
    ];
    let options = args.tls.options();
    let mut terms = Terms::default();
    let mut targets = Vec::new();
    for (flag, url) in all {
        let Some(url) = url else { continue };
        let target = target::target(flag, url, &options, &guard).with_context(|| format!("--{flag}"))?;
        terms.add(target.terms.clone());
        targets.push(target);
    }
    if options != TlsOptions::default() && targets.iter().all(|target| target.target.tls.is_none()) {
        refuse!(
            ["insecure", "cacert", "cert", "key"],
            "no target uses TLS: remove -k, --cacert, --cert and --key, or use https"
        );
    }
    let ends = [args.length, args.guards.budget_time];
    // Without an end it goes on for as long as anybody lets it.
    terms.check_end(ends.into_iter().flatten().min().unwrap_or(Nanos(u64::MAX))).context("--for")?;
    let rate_cap = [terms.rate_cap, config::max_rate()?].into_iter().flatten().min();
    if rate_cap.is_some_and(Rate::is_zero) {
        bail!("the rate is capped at 0: nothing may be sent");
    }
    let guards = guards::beside(&args.guards, &args.tls, limits)?;
    guards.check()?;
    let each = (limits.connections(2) / (targets.len() as u64 + 1)).max(1);
    let connections = u32::try_from(each).unwrap_or(u32::MAX).min(args.connections).min(1 << 20);
    let listener =
        TcpListener::bind(args.listen).with_context(|| format!("can't listen on {}", args.listen))?;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let mirror = Mirror {
        listener,
        bounds: Bounds {
            pairs: args.queue as usize,
            bytes: size(args.queue_bytes),
            body: size(args.body_max),
            connections,
            clients: size(each).min(CLIENTS_MAX),
        },
        headers,
        host: targets[0].authority.clone(),
        timeout: args.timeout,
        mutating: args.mutating,
        // A cap holds for the requests to all targets together.
        apart: rate_cap.map(|rate| rate.time_of(targets.len() as u64)),
        requests_max: args.guards.budget_requests,
        digests: args.noise.is_some(),
        targets: targets.iter().map(|target| target.target.clone()).collect(),
    };
    let shown = targets.into_iter().map(|target| target.shown).collect();
    Ok(Prepared { mirror, shown, guards })
}

fn headers(args: &MirrorArgs) -> Result<Vec<(String, String)>> {
    let parsed = |line: &String| {
        unblink_wire::parse_header(line)
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .with_context(|| format!("--header {}: expected 'Name: value'", secrets::mask_header(line)))
    };
    args.header.iter().map(parsed).collect()
}
