//! All clients as a page: the finding, a picture of each, the table with a sentence for each.

use super::figures::{NAMES, milliseconds};
use super::{Explain, Figures, RIGHT, about, finding, panels};
use crate::format;
use crate::html::{self, Page};
use crate::svg;
use crate::svg::canvas::escape;
use std::fmt::Write;

/// The panels find their own columns, and a table its own width: the page shows each picture once, in every width.
const STYLE: &str = "<style>\
    .clients-plot .plot{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:14px 18px}\
    .clients-plot .full .plot svg.wide.panel{max-width:none;font-size:10.5px}.clients-plot .full .plot svg.panel .axis{font-size:11px}\
    .clients .figures td.right{color:var(--response-text)}.clients .figures td.wrong{color:var(--service-text)}\
    .clients code{overflow-wrap:anywhere}\
    @media (max-width:639px){.clients-plot .plot{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}\
    .clients-plot .full .plot svg.wide.panel,.clients-plot .full .plot svg.panel .axis{font-size:12.3px}}\
    </style>";

pub(super) fn render(explain: &Explain) -> String {
    let figures = explain.figures();
    let finding = finding(&figures);
    let mut page = Page::new(&finding);
    page.document("truth", &explain.truth);
    page.body += STYLE;
    let told = "explanation · SIMULATED: no request was sent";
    page.head(&explain.truth.tool, told, &finding, &[escape(&about(explain))]);
    let out = &mut page.body;
    out.push_str("<section class=\"pictures clients-plot\">");
    let (title, truth, panels) = panels(explain, &figures);
    html::figure(out, &svg::panels_apart(title, &truth, &panels), "truth", 2);
    out.push_str("</section>");
    table(out, explain, &figures);
    page.finish_holding(&explain.truth, "The page holds the run document of the first row, what users feel")
}

fn table(out: &mut String, explain: &Explain, figures: &[Figures]) {
    out.push_str(
        "<section class=\"clients scroll\"><table><thead><tr><th scope=\"col\">client, times in ms</th>",
    );
    for name in NAMES.into_iter().chain(["samples", "omitted", "invented", "p99 is", "ratio"]) {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (i, row) in figures.iter().enumerate() {
        let exact = i == 0 && !explain.exact_ns.is_empty();
        let class = match (i, row.is_to_be_believed()) {
            (0, _) => "key-row",
            (_, _) if row.is_other_users => "other-users",
            (_, true) => "response-text",
            (_, false) => "service-text",
        };
        let _ = write!(out, "<tr class=\"{class} figures\"><th scope=\"row\">{}</th>", escape(&row.name));
        for ((name, time), is_right) in NAMES.into_iter().zip(row.times).zip(row.right) {
            let class = match (i, is_right) {
                (0, _) => "",
                (_, true) => " right",
                (_, false) => " wrong",
            };
            let time = milliseconds(time, exact);
            let _ = write!(out, "<td class=\"n{class}\" data-name=\"{name}\">{time}</td>");
        }
        for (name, n) in [("samples", row.samples), ("omitted", row.omitted), ("invented", row.invented)] {
            let zero = if n == 0 { " zero" } else { "" };
            let _ = write!(out, "<td class=\"n{zero}\" data-name=\"{name}\">{}</td>", format::count(n));
        }
        let (error, ratio) = if i == 0 { ("true".into(), "1×".into()) } else { (row.error(), row.ratio()) };
        let _ = write!(
            out,
            "<td class=\"n\" data-name=\"p99 is\">{error}</td><td class=\"n\" data-name=\"ratio\">{ratio}</td></tr>\
             <tr class=\"does\"><td colspan=\"11\"><div>{} <code>{}</code></div></td></tr>",
            escape(&row.does),
            escape(&row.client)
        );
    }
    let _ = write!(
        out,
        "</tbody></table><p class=\"foot\">Ratio: the p99 of users ÷ that of the client. In the colour of what is right: \
         what lies {RIGHT}. Omitted: planned arrivals that were never sent; of users who wait, those that would have come \
         while they waited for longer than usual.</p></section>"
    );
}
