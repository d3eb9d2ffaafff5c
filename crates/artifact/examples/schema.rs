//! Writes the committed JSON Schema anew: `cargo run -p unblink-artifact --example schema`.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/unblink.run-1.schema.json");
    std::fs::write(path, unblink_artifact::schema::json_schema_text())
}
