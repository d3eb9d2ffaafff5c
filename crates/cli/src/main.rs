//! The `unblink` command: arguments to a plan, wiring, exit codes; the only printer.
fn main() {}
