//! What a run refuses beside journeys that hold their connection.

use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::request::version::HttpArg;
use anyhow::Result;

/// They hold a connection that takes one request at a time.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    if !args.journeys.iter().any(|journey| journey.hold_connection) {
        return Ok(());
    }
    if args.target.http != HttpArg::One {
        refuse!(
            ["http"],
            "hold-connection is for HTTP/1.1, whose connections take one request at a time: leave --http out, or hold-connection"
        );
    }
    if args.target.web_socket.depth.is_some_and(|depth| depth > 1) {
        refuse!(
            ["depth"],
            "hold-connection is for connections that take one request at a time: leave --depth out, or hold-connection"
        );
    }
    Ok(())
}
