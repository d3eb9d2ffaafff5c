//! All clients as a page: the finding, a picture of each, the table with a sentence for each.

use super::{Explain, about, finding, milliseconds, picture};
use crate::format;
use crate::html::{self, Page};
use crate::svg::canvas::escape;
use std::fmt::Write;

pub(super) fn render(explain: &Explain) -> String {
    let finding = finding(explain);
    let mut page = Page::new(&finding);
    page.document("truth", &explain.truth);
    let out = &mut page.body;
    let _ = write!(
        out,
        "<header><p class=\"brand\"><b>{}</b> {} <span>· explanation · SIMULATED: no request was sent</span></p>\
         <h1>{}</h1><p class=\"load\">{}</p></header><section class=\"pictures\">",
        escape(&explain.truth.tool.name),
        escape(&explain.truth.tool.version),
        escape(&finding),
        escape(&about(explain)),
    );
    html::figure(out, &picture(explain), "truth", 2);
    out.push_str("</section>");
    table(out, explain);
    page.finish_holding(&explain.truth, "The page holds the run document of the first row, what users feel")
}

fn table(out: &mut String, explain: &Explain) {
    out.push_str(
        "<section class=\"clients scroll\"><table><thead><tr><th scope=\"col\">client, times in ms</th>\
         <th scope=\"col\" class=\"n\">p50</th><th scope=\"col\" class=\"n\">p90</th>\
         <th scope=\"col\" class=\"n\">p99</th><th scope=\"col\" class=\"n\">p99.9</th>\
         <th scope=\"col\" class=\"n\">max</th><th scope=\"col\" class=\"n\">samples</th>\
         <th scope=\"col\" class=\"n\">omitted</th><th scope=\"col\" class=\"n\">invented</th>\
         <th scope=\"col\" class=\"n\">p99 is</th></tr></thead><tbody>",
    );
    const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
    for (i, row) in explain.figures().iter().enumerate() {
        let exact = i == 0 && !explain.exact_ns.is_empty();
        let class = match (i, row.is_felt) {
            (0, _) => "key-row",
            (_, true) => "response-text",
            (_, false) => "service-text",
        };
        let _ = write!(out, "<tr class=\"{class} figures\"><th scope=\"row\">{}</th>", escape(&row.name));
        for (name, ns) in NAMES.into_iter().zip(row.values()) {
            let _ = write!(out, "<td class=\"n\" data-name=\"{name}\">{}</td>", milliseconds(ns, exact));
        }
        for (name, n) in [("samples", row.samples), ("omitted", row.omitted), ("invented", row.invented)] {
            let zero = if n == 0 { " zero" } else { "" };
            let _ = write!(out, "<td class=\"n{zero}\" data-name=\"{name}\">{}</td>", format::count(n));
        }
        let error = if i == 0 { "true".to_string() } else { row.error() };
        let _ = write!(
            out,
            "<td class=\"n\" data-name=\"p99 is\">{error}</td></tr><tr class=\"does\"><td colspan=\"10\"><div>{} <code>{}</code></div></td></tr>",
            escape(&row.does),
            escape(&row.client)
        );
    }
    out.push_str("</tbody></table></section>");
}
