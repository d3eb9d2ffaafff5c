//! Writes the committed JSON Schemas anew: `cargo run -p unblink-artifact --example schema`.

use std::path::Path;
use unblink_artifact::schema;

fn main() -> std::io::Result<()> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schema"));
    let schemas = [
        (schema::RUN_SCHEMA_FILE, schema::json_schema()),
        (schema::COMPARE_SCHEMA_FILE, schema::compare_schema()),
        (schema::KNEE_SCHEMA_FILE, schema::knee_schema()),
        (schema::PLAN_CHECK_SCHEMA_FILE, schema::plan_check_schema()),
        (schema::LAB_CELL_SCHEMA_FILE, schema::lab_cell_schema()),
        (schema::LAB_SCHEMA_FILE, schema::lab_schema()),
        (schema::AUDIT_SCHEMA_FILE, schema::audit_schema()),
        (schema::HISTORY_SCHEMA_FILE, schema::history_schema()),
        (schema::TREND_SCHEMA_FILE, schema::trend_schema()),
    ];
    schemas.iter().try_for_each(|(name, value)| std::fs::write(folder.join(name), schema::schema_text(value)))
}
