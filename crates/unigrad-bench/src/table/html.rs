//! A table as a page: bars against the ceilings, every figure, machine and settings.
//!
//! In: a table. Out: one HTML file.
//! Always: no script, nothing loaded from elsewhere; light or dark as the reader's system is; every text is escaped.

use super::row::{Bound, Measured, Outcome, Precision, RowResult, Table};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// Of the drawing, in its own units: where bars begin, how long the ceiling is, and how far a bar may go beyond it.
const LEFT: f64 = 260.0;
const CEILING: f64 = 560.0;
const BEYOND: f64 = 1.15;
const WIDTH: f64 = 1200.0;
const LINE: f64 = 22.0;

/// Text that is safe between tags and inside quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no way to write these.
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0);
    format!("{value:.*}", digits as usize)
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// The page.
pub fn page(table: &Table) -> String {
    let title = escape(&format!("unigrad bench table: {}", table.environment.hardware));
    let mut body = String::new();
    // Writing into a string does not fail.
    let _ = write!(body, "<section><h2>Parts of the ceiling</h2>{}</section>", bars(table));
    let _ = write!(body, "<section><h2>Rows</h2><div class=\"scroll\">{}</div></section>", figures(table));
    let _ = write!(body, "<section><h2>Ceilings, measured in this run</h2>{}</section>", pairs(&ceilings(table)));
    let _ = write!(body, "<section><h2>Machine, device, settings</h2>{}</section>", pairs(&environment(table)));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><main><header><h1>{title}</h1></header>{body}<footer>unigrad {}, {}</footer></main></body></html>\n",
        escape(&table.environment.version),
        escape(&table.date)
    )
}

fn bars(table: &Table) -> String {
    let rows: Vec<(&RowResult, f64, Bound)> =
        table.rows.iter().filter_map(|row| row.fraction(&table.ceilings).map(|(part, bound)| (row, part, bound))).collect();
    if rows.is_empty() {
        return "<p>No row with a ceiling was measured.</p>".to_owned();
    }
    let height = LINE * rows.len() as f64 + 8.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"parts of the ceiling\">");
    for (at, (row, part, bound)) in rows.into_iter().enumerate() {
        let y = LINE * at as f64;
        let class = match bound {
            Bound::Memory => "memory",
            Bound::Products(_) => "products",
        };
        let (name, text_y) = (escape(&row.name), y + 15.0);
        let length = CEILING * part.clamp(0.0, BEYOND);
        let rate = row.rate().map_or_else(String::new, |(rate, unit)| format!(", {} {unit}", number(rate)));
        let told = escape(&format!("{:.1} % of {bound}{rate}", 100.0 * part));
        let _ = write!(
            svg,
            "<text x=\"{:.0}\" y=\"{text_y:.0}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"track\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{CEILING}\" height=\"14\" rx=\"2\"/>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"14\" rx=\"2\"/>\
             <text class=\"soft\" x=\"{:.0}\" y=\"{text_y:.0}\">{told}</text>",
            LEFT - 8.0,
            y + 4.0,
            y + 4.0,
            LEFT + CEILING * BEYOND + 8.0,
        );
    }
    let x = LEFT + CEILING;
    let _ = write!(svg, "<line class=\"ceiling\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{height}\"/></svg>");
    svg + "<p class=\"legend\">The line is the least time that the ceilings allow; a bar is that time divided by the time that a step takes. \
           <i class=\"memory\"></i>bound by memory<i class=\"products\"></i>bound by products</p>"
}

fn figures(table: &Table) -> String {
    let head = [
        "row",
        "size",
        "ms",
        "ms, waited",
        "ms, device",
        "rate",
        "of ceiling",
        "ceiling",
        "first step, s",
        "cold, s",
        "peak MiB",
        "W",
        "J a step",
        "more",
    ];
    let mut html = String::from("<table><thead><tr>");
    for name in head {
        let _ = write!(html, "<th>{name}</th>");
    }
    html += "</tr></thead><tbody>";
    for row in &table.rows {
        let size = if row.divisor > 1 { format!("{} (1/{} of the row)", row.size, row.divisor) } else { row.size.clone() };
        let _ = write!(html, "<tr><td>{}</td><td class=\"text\">{}</td>", escape(&row.name), escape(&size));
        match &row.outcome {
            Outcome::Measured(measured) => html += &cells(row, measured, table),
            Outcome::Skipped(why) => {
                let _ = write!(html, "<td class=\"text\" colspan=\"{}\">skipped: {}</td>", head.len() - 2, escape(why));
            }
            Outcome::Failed(why) => {
                let _ = write!(html, "<td class=\"text warn\" colspan=\"{}\">failed: {}</td>", head.len() - 2, escape(why));
            }
        }
        html += "</tr>";
    }
    html + "</tbody></table>"
}

fn cells(row: &RowResult, measured: &Measured, table: &Table) -> String {
    let fraction = row.fraction(&table.ceilings);
    let rate = row.rate().map_or_else(|| "–".to_owned(), |(rate, unit)| format!("{} {unit}", number(rate)));
    let texts = [
        number(measured.ms),
        number(measured.waited_ms),
        or_dash(measured.device_ms),
        rate,
        fraction.map_or_else(|| "–".to_owned(), |(part, _)| format!("{:.1} %", 100.0 * part)),
        fraction.map_or_else(|| "–".to_owned(), |(_, bound)| bound.to_string()),
        number(measured.first_s),
        or_dash(measured.cold_s),
        format!("{:.0}", measured.peak_bytes as f64 / f64::from(1 << 20)),
        or_dash(measured.watts),
        or_dash(row.joules()),
    ];
    let mut html: String = texts.iter().map(|text| format!("<td>{}</td>", escape(text))).collect();
    let _ = write!(html, "<td class=\"text\">{}</td>", escape(&measured.note));
    html
}

fn pairs(pairs: &[(String, String)]) -> String {
    let rows: String = pairs.iter().map(|(name, value)| format!("<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value))).collect();
    format!("<table class=\"pairs\"><tbody>{rows}</tbody></table>")
}

fn ceilings(table: &Table) -> Vec<(String, String)> {
    let of = &table.ceilings;
    let mut all: Vec<(String, String)> = [("memory, copy", of.copy), ("memory, map", of.map), ("memory, sum", of.read)]
        .map(|(name, rate)| (name.to_owned(), format!("{} GB/s", number(rate))))
        .to_vec();
    for (precision, (rate, size)) in Precision::ALL.into_iter().zip(of.products) {
        let text = if rate > 0.0 { format!("{} TFLOP/s ({size}x{size})", number(rate / 1e3)) } else { "none".to_owned() };
        all.push((format!("{} products", precision.name()), text));
    }
    if let Some(fma) = of.fma {
        all.push(("multiply-adds in registers, all cores".to_owned(), format!("{} TFLOP/s", number(fma / 1e3))));
    }
    all
}

fn environment(table: &Table) -> Vec<(String, String)> {
    let environment = &table.environment;
    let mut all = vec![
        ("device".to_owned(), format!("{} ({})", environment.device, environment.hardware)),
        ("driver".to_owned(), environment.driver.clone()),
        ("system".to_owned(), environment.system.clone()),
        ("processor".to_owned(), format!("{}, {} cores", environment.processor, environment.cores)),
        ("version".to_owned(), environment.version.clone()),
        ("date".to_owned(), table.date.clone()),
    ];
    // By name, as a file has them.
    let mut settings = environment.settings.clone();
    settings.sort();
    all.extend(settings.into_iter().map(|(name, value)| (format!("setting {name}"), value)));
    all
}
