//! The frame of the page: head, style, heading; and how texts and numbers are written into it.

const STYLE: &str = include_str!("style.css");

/// A whole page. `title` is text, `body` is HTML.
pub(super) fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><main><header><h1>{title}</h1></header>{body}<footer>unigrad {}</footer></main></body></html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Text that is safe between tags and inside quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no way to write these; a model may well sample them.
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Four significant digits, without an exponent where that is readable.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "not a number".to_owned() } else { "infinite".to_owned() };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if (-4.0..6.0).contains(&magnitude) {
        format!("{value:.*}", (3.0 - magnitude).clamp(0.0, 7.0) as usize)
    } else {
        format!("{value:.3e}")
    }
}
