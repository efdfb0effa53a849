//! The table of `Tensor`'s public methods, which the registry of ops describes its rows with: made from the sources, compared with them by a test.
//!
//! In: the files of `unigrad-tensor`. Out: `registry/methods.rs` there: name, signature and documentation of each method.
//! Always: a method that a macro makes is there too: its signature is the macro's, its name and documentation are the invocation's; those that come
//! from the table of functions of one number have that table's.
//! Never: a guess: a `pub fn $name` of a macro without an invocation that names it is an error.

use crate::source;
use std::{fmt::Write, fs};
use unigrad_scalar::{UnaryClass, UnaryOp};

const HEADER: &str = "//! Every public method of `Tensor`, made from the sources by `cargo xtask generate`; a test of `xtask` compares.

use super::Method;

/// Every public method of [`Tensor`](crate::Tensor).
#[rustfmt::skip]
pub const METHODS: &[Method] = &[
";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) doc: String,
}

/// Every public method, by name.
pub(crate) fn methods() -> Result<Vec<Method>, String> {
    let mut methods: Vec<Method> = UnaryOp::ALL
        .iter()
        .filter(|op| !matches!(op.class(), UnaryClass::Truth | UnaryClass::Bits))
        .map(|op| Method { name: op.method().to_owned(), signature: format!("{}(&self) -> Tensor", op.method()), doc: op.doc().to_owned() })
        .collect();
    for file in source::rust_files(&source::root().join("crates/unigrad-tensor/src")) {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        methods.extend(methods_of(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    methods.sort();
    Ok(methods)
}

/// The file of the table.
pub(crate) fn table() -> Result<String, String> {
    let mut out = HEADER.to_owned();
    for Method { name, signature, doc } in &methods()? {
        let _ = writeln!(out, "    Method {{ name: {name:?}, signature: {signature:?}, doc: {doc:?} }},");
    }
    Ok(out + "];\n")
}

/// What is between the braces (or parentheses) that open at the end of `start`, the first time it occurs from `from` on, and where it ends.
fn block<'a>(text: &'a str, start: &str, from: usize) -> Option<(&'a str, usize)> {
    let open = text[from..].find(start)? + from + start.len();
    let (opening, closing) = match start.chars().last() {
        Some('{') => ('{', '}'),
        _ => ('(', ')'),
    };
    let mut depth = 1;
    let mut chars = text[open..].char_indices();
    let mut quoted = false;
    while let Some((at, c)) = chars.next() {
        // Comments and strings have braces of their own.
        if !quoted && c == '/' && text[open + at..].starts_with("//") {
            let rest = text[open + at..].find('\n').unwrap_or(text.len() - open - at);
            for _ in 0..text[open + at..open + at + rest].chars().count().saturating_sub(1) {
                chars.next();
            }
            continue;
        }
        match c {
            '\\' if quoted => _ = chars.next(),
            '"' => quoted = !quoted,
            // A character, not a lifetime.
            '\'' if !quoted => {
                let rest = &text[open + at + 1..];
                let mut inside = rest.chars();
                if let (Some(first), Some(second)) = (inside.next(), inside.next()) {
                    if first == '\\' {
                        while chars.next().is_some_and(|(_, c)| c != '\'') {}
                    } else if second == '\'' {
                        chars.next();
                        chars.next();
                    }
                }
            }
            c if quoted => _ = c,
            c if c == opening => depth += 1,
            c if c == closing => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[open..open + at], open + at + 1));
                }
            }
            _ => {}
        }
    }
    None
}

fn methods_of(text: &str) -> Result<Vec<Method>, String> {
    let mut methods = Vec::new();
    // Without what the macros say: `impl Tensor {` is theirs as well.
    let mut plain = String::new();
    let (mut from, mut macros) = (0, Vec::new());
    while let Some(at) = text[from..].find("macro_rules! ") {
        let at = from + at;
        plain.push_str(&text[from..at]);
        let name = text[at + "macro_rules! ".len()..].split_whitespace().next().unwrap_or_default().to_owned();
        let (body, end) = block(text, "{", at).ok_or("a macro without an end")?;
        macros.push((name, body));
        from = end;
    }
    plain.push_str(&text[from..]);
    let mut from = 0;
    while let Some((body, end)) = block(&plain, "impl Tensor {", from) {
        methods.extend(functions(body, None)?);
        from = end;
    }
    for (name, body) in macros.iter().filter(|(name, body)| body.contains("pub fn $") && name != "method") {
        let mut from = 0;
        let mut found = false;
        while let Some((entries, end)) = block(&plain, &format!("\n{name}!("), from) {
            for (doc, names) in invocation(entries) {
                methods.extend(functions(body, Some((&doc, &names)))?);
            }
            (from, found) = (end, true);
        }
        if !found {
            return Err(format!("the macro `{name}` makes public methods, and no invocation is found"));
        }
    }
    Ok(methods)
}

/// The public functions of a block; of a macro's with `$name` and `$keep`, those of an entry.
fn functions(body: &str, entry: Option<(&str, &[String])>) -> Result<Vec<Method>, String> {
    let mut found = Vec::new();
    let mut doc: Vec<String> = Vec::new();
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            let text = text.strip_prefix(' ').unwrap_or(text);
            // Lines of examples that the documentation does not show either.
            if !text.starts_with("# ") {
                doc.push(text.to_owned());
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix("pub fn ") {
            let mut signature = rest.to_owned();
            while !signature.contains('{') {
                let Some(more) = lines.next() else { return Err(format!("{line}: no body")) };
                signature = format!("{signature} {}", more.trim());
            }
            let signature = signature.split('{').next().unwrap_or_default().trim().replace("( ", "(").replace(", )", ")");
            let name = signature.split(['(', '<']).next().unwrap_or_default().to_owned();
            match (name.strip_prefix('$'), entry) {
                (None, None) => found.push(Method { name, signature, doc: doc.join("\n") }),
                (Some(variable), Some((entry_doc, names))) => {
                    let which = usize::from(variable != "name");
                    let own = names.get(which).ok_or_else(|| format!("{line}: the entry has no ${variable}"))?;
                    let doc =
                        if which == 0 { entry_doc.to_owned() } else { format!("[`Tensor::{}`], with the axes left at size 1.", names[0]) };
                    found.push(Method { name: own.clone(), signature: signature.replacen(&name, own, 1), doc });
                }
                _ => return Err(format!("{line}: a name that is not known")),
            }
        }
        if !line.starts_with("#[") {
            doc.clear();
        }
    }
    Ok(found)
}

/// The entries of an invocation: documentation, then names up to `=`.
fn invocation(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut entries, mut doc) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim().to_owned());
        } else if let Some((names, _)) = line.split_once(" = ") {
            entries.push((doc.join("\n"), names.split_whitespace().map(str::to_owned).collect()));
            doc.clear();
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_blocks_and_macros_are_found() {
        let text = r#"
macro_rules! two {
    ($($(#[$doc:meta])* $name:ident $keep:ident = $inner:ident),*) => { impl Tensor { $(
        $(#[$doc])*
        pub fn $name(&self, axes: impl Axes) -> Tensor { self.$inner(axes, '{') }
        pub fn $keep(&self, axes: impl Axes) -> Tensor { self.$inner(axes, "{") }
    )* } };
}
two!(
    /// Sum.
    sum sum_keepdim = sum_as,
);
impl Tensor {
    /// Doubled, }
    /// really.
    #[track_caller]
    pub fn twice<'a>(
        &'a self,
        n: usize,
    ) -> Tensor {
        // }
        other("}")
    }
    pub(crate) fn inner(&self) {}
    fn private(&self) {}
}
"#;
        let methods = methods_of(text).unwrap();
        let short: Vec<_> = methods.iter().map(|m| (m.name.as_str(), m.signature.as_str(), m.doc.as_str())).collect();
        let want = [
            ("twice", "twice<'a>(&'a self, n: usize) -> Tensor", "Doubled, }\nreally."),
            ("sum", "sum(&self, axes: impl Axes) -> Tensor", "Sum."),
            ("sum_keepdim", "sum_keepdim(&self, axes: impl Axes) -> Tensor", "[`Tensor::sum`], with the axes left at size 1."),
        ];
        assert_eq!(short, want);
    }
}
