//! A request of HTTP, rendered.

use anyhow::{Result, anyhow};
use std::sync::Arc;
use unblink_wire::{RenderError, RequestBuilder, RequestKind, http1};

/// As HTTP/1.1 writes it.
pub(super) fn render_one(
    builder: &RequestBuilder<'_>,
    body: &Arc<[u8]>,
    is_filled: bool,
) -> Result<http1::Request> {
    let (kind, closes) = (RequestKind::of_method(builder.method), builder.asks_to_close());
    if is_filled {
        let blank = builder.render_blank().map_err(unquoted)?.map(Arc::new);
        return Ok(http1::Request { head: Box::default(), body: Arc::default(), kind, closes, blank });
    }
    let (head, body) = match builder.render_head().map_err(unquoted)? {
        Some(head) => (head, body.clone()),
        None => (builder.render().map_err(unquoted)?, Arc::default()),
    };
    Ok(http1::Request { head: head.into(), body, kind, closes, blank: None })
}

/// Why it can't be sent, without the path and query that it quotes.
pub(super) fn unquoted(error: RenderError) -> anyhow::Error {
    match error {
        RenderError::Target { found, .. } => anyhow!("its path or query contains {found}: percent-encode it"),
        RenderError::Fragment { .. } => {
            anyhow!("its path has a fragment: remove # and what follows, or write it as %23")
        }
        other => other.into(),
    }
}
