//! Everything that is written is well-formed, holds nothing that a document could smuggle in, and loads
//! nothing from anywhere.

use unblink_report::{compare, demo, fixture, html, svg};

#[test]
fn pages_are_well_formed_and_load_nothing() {
    let mut pages: Vec<(String, String)> =
        fixture::all().into_iter().map(|(name, doc)| (name.to_string(), html::render(&doc))).collect();
    pages.push(("demo".into(), demo::html(&fixture::demo())));
    let compared = fixture::compare::all();
    pages.extend(compared.iter().map(|(name, doc)| (format!("compare-{name}"), compare::html(doc))));
    for (name, page) in pages {
        let body = page.strip_prefix("<!doctype html>\n").expect("a doctype");
        well_formed(&name, body);
        for forbidden in [" src=", " href=", "url(http", "@import", "<link", "<img"] {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        assert!(page.contains("prefers-color-scheme:dark"), "{name}");
        assert!(page.len() < 1_500_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn a_page_stays_small_when_every_cell_is_taken() {
    let mut doc = fixture::stall();
    let rows = doc.series.rows.clone();
    doc.series.rows = rows.iter().cycle().take(600).cloned().collect();
    for (i, column) in (0u32..).zip(&mut doc.heatmap.columns) {
        column.cells = (36..72).map(|bin| (bin, 1 + (bin * 7919 + i * 104_729) % 997)).collect();
    }
    let page = html::render(&doc);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn pictures_are_well_formed_with_a_title_in_light_and_dark() {
    for (name, doc) in fixture::all() {
        let pictures = svg::all(&doc);
        assert!(pictures.len() >= 6, "{name}");
        for (stem, picture) in pictures {
            well_formed(&format!("{name}-{stem}"), &picture);
            assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{name}-{stem}");
            assert!(picture.contains("<title>") && !picture.contains("<title></title>"), "{name}-{stem}");
            assert!(picture.contains("prefers-color-scheme:dark"), "{name}-{stem}");
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{name}-{stem}: a number is missing"
            );
        }
    }
}

#[test]
fn comparisons_stay_text_too() {
    for (name, doc) in fixture::compare::all() {
        let (page, picture) = (compare::html(&doc), compare::svg(&doc));
        well_formed(name, &picture);
        assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{name}");
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{name}");
    }
}

#[test]
fn a_url_stays_text() {
    let page = html::render(&fixture::hostile());
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    for (stem, picture) in svg::all(&fixture::hostile()) {
        assert!(!picture.contains("<script"), "{stem}");
    }
}

#[test]
fn a_page_carries_its_document() {
    let doc = fixture::hostile();
    let page = html::render(&doc);
    let (_, rest) = page.split_once("data-document=\"run\">").expect("the document");
    let (json, _) = rest.split_once("</script>").expect("its end");
    let read: unblink_artifact::document::RunDocument = serde_json::from_str(json).expect("the document");
    // Not `assert_eq!(read, doc)`: a parser of JSON may miss the last bit of a mean.
    assert_eq!(read.targets, doc.targets);
    assert_eq!(read.arrivals, doc.arrivals);
    assert_eq!(read.response_time.quantiles, doc.response_time.quantiles);
    assert!(read.heatmap == doc.heatmap && read.series.rows.len() == doc.series.rows.len());
}

#[test]
fn every_picture_of_the_page_is_also_a_file() {
    let doc = fixture::stall();
    let page = html::render(&doc);
    let stems: Vec<String> = svg::all(&doc).into_iter().map(|(stem, _)| stem).collect();
    assert_eq!(page.matches("<figure").count(), stems.len());
    assert_eq!(stems, ["spectrum", "heatmap", "event", "rates", "in-flight", "phases", "lateness"]);
}

#[test]
fn the_order_is_validity_arrivals_pictures_tables() {
    let page = html::render(&fixture::saturated());
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let order =
        [at("INVALID</h2>"), at("class=\"account\""), at("class=\"pictures\""), at("class=\"tables\"")];
    assert!(order.is_sorted(), "{order:?}");
    assert!(page.contains("must not be quoted"));
    assert!(page.contains("&gt;\u{a0}5\u{a0}s"));
}

/// XML's rules for elements, attributes and entities. Script and style are raw text, as in HTML.
fn well_formed(name: &str, text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        entities(name, &rest[..at]);
        rest = &rest[at..];
        let end = tag_end(rest).unwrap_or_else(|| panic!("{name}: a tag is not closed"));
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(closing) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closing), "{name}: </{closing}>");
            continue;
        }
        let element = tag.split([' ', '/']).next().expect("a name");
        assert!(element.chars().all(|c| c.is_ascii_alphanumeric()), "{name}: <{element}>");
        attributes(name, element, tag[element.len()..].trim_end_matches('/'));
        if tag.ends_with('/') {
            continue;
        }
        if element == "script" || element == "style" {
            let close = format!("</{element}>");
            let end = rest.find(&close).unwrap_or_else(|| panic!("{name}: {element} is not closed"));
            rest = &rest[end + close.len()..];
            continue;
        }
        open.push(element);
    }
    assert!(open.is_empty(), "{name}: still open: {open:?}");
}

fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(i, c)| {
        if c == '"' {
            quoted = !quoted;
        }
        (c == '>' && !quoted).then_some(i)
    })
}

fn attributes(name: &str, element: &str, text: &str) {
    let mut seen = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("{name}: <{element} {rest}"));
        let (value, after) = value.split_once('"').expect("a closing quote");
        assert!(!value.contains('<'), "{name}: <{element} {key}={value}");
        entities(name, value);
        assert!(!seen.contains(&key), "{name}: {key} twice in <{element}>");
        seen.push(key);
        rest = after.trim_start();
    }
}

fn entities(name: &str, text: &str) {
    for piece in text.split('&').skip(1) {
        let (entity, _) = piece.split_once(';').unwrap_or_else(|| panic!("{name}: a bare & before {piece}"));
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "{name}: &{entity};");
    }
}
