//! All clients as a page: the finding, a picture of each, the table with a sentence for each.

use super::{Explain, about, finding, panels, table};
use crate::block::{Block, Paint, Room};
use crate::html::{self, Page};
use crate::svg;
use crate::svg::canvas::escape;

/// The panels find their own columns, and a table its own width: the page shows each picture once, in every width.
const STYLE: &str = "<style>\
    .clients-plot .plot{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:14px 18px}\
    .clients-plot .full .plot svg.wide.panel{max-width:none;font-size:10.5px}.clients-plot .full .plot svg.panel .axis{font-size:11px}\
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
    out.push_str("<section class=\"clients\">");
    let below = Block::Line(Paint::Dim, table::meaning());
    html::blocks(out, &[Block::Table(table::table(explain, &figures, Room::Page)), below], "", 2);
    out.push_str("</section>");
    page.finish_holding(&explain.truth, "The page holds the run document of the first row, what users feel")
}
