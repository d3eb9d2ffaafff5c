//! Writes the committed JSON Schemas again: `cargo run -p unblink-artifact --example schema`.

use std::path::Path;
use unblink_artifact::schema;

fn main() -> std::io::Result<()> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema"));
    let mut schemas = schema::files().into_iter();
    schemas.try_for_each(|(name, value)| std::fs::write(folder.join(name), schema::schema_text(&value)))
}
