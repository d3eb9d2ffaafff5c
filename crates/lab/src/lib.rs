//! The misbehaving lab server and its truth log.
