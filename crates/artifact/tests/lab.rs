//! The committed schemas of the lab's documents.

use unblink_artifact::schema::{audit_schema, lab_cell_schema, lab_schema, schema_text};

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    for (name, schema) in [
        ("unblink.lab-cell-1.schema.json", lab_cell_schema()),
        ("unblink.lab-1.schema.json", lab_schema()),
        ("unblink.lab-audit-1.schema.json", audit_schema()),
    ] {
        let path = format!("{}/schema/{name}", env!("CARGO_MANIFEST_DIR"));
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == schema_text(&schema),
            "{name}: the types have changed; write it anew with: cargo run -p unblink-artifact --example schema"
        );
    }
}
