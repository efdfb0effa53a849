//! What the sources declare of `Tensor`'s ops: signatures of methods, fields of settings, names of choices.
//!
//! In: the table of public methods, the list of those that are no ops, and the sources of `unigrad-tensor` and `unigrad-scalar`.
//! Out: parameters with their types, as text; the names that Python has for them.
//! Always: read once, for everything that is made of it.
//! Never: a guess: what cannot be read is an error.

use crate::{
    registry::{Method, methods},
    source,
};
use std::{collections::BTreeSet, fs};

/// Python's words that no parameter and no method can have for a name.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for",
    "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with",
    "yield",
];

/// Everything that is made into something.
pub(crate) struct Declared {
    /// The public methods, by name.
    pub(crate) methods: Vec<Method>,
    /// The names of those that are no ops.
    pub(crate) not_ops: BTreeSet<String>,
    pub(crate) types: Types,
}

impl Declared {
    /// Reads the workspace.
    pub(crate) fn read() -> Result<Declared, String> {
        let text = |file: &std::path::Path| fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()));
        let sources = source::rust_files(&source::root().join("crates"))
            .iter()
            .filter(|file| ["unigrad-tensor/src", "unigrad-scalar/src"].iter().any(|part| file.to_string_lossy().contains(part)))
            .map(|file| text(file))
            .collect::<Result<Vec<String>, String>>()?;
        let not_ops = not_ops(&text(&source::root().join("crates/unigrad-tensor/src/registry/others.rs"))?)?;
        Ok(Declared { methods: methods()?, not_ops, types: Types { sources } })
    }
}

/// The names in the list of methods that are no ops.
fn not_ops(text: &str) -> Result<BTreeSet<String>, String> {
    let (_, list) = text.split_once("pub const NOT_OPS").ok_or("no list of methods that are no ops")?;
    // The names of a group are between its inner brackets: `("why", &["name", ..])`.
    let groups = list.split("&[").skip(2).filter_map(|part| part.split_once(']')).map(|(names, _)| names);
    let names: BTreeSet<String> = groups.flat_map(|names| names.split('"').skip(1).step_by(2)).map(str::to_owned).collect();
    if names.is_empty() { Err("the list of methods that are no ops is empty".into()) } else { Ok(names) }
}

/// A method's signature, taken apart.
pub(crate) struct Signature<'a> {
    /// Whether it is called without a tensor.
    pub(crate) is_static: bool,
    /// Names and types, without `self`.
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
    /// What stands behind the arrow; empty without one.
    pub(crate) result: &'a str,
}

impl<'a> Signature<'a> {
    pub(crate) fn of(method: &'a Method) -> Result<Signature<'a>, String> {
        let rest = method.signature.find('(').map(|at| &method.signature[at..]).ok_or("no parameters")?;
        let end = closing(rest).ok_or("no end of the parameters")?;
        let mut signature = Signature { is_static: true, parameters: Vec::new(), result: rest[end + 1..].trim() };
        signature.result = signature.result.strip_prefix("->").map_or("", |ty| ty.split(" where ").next().unwrap_or(ty).trim());
        for parameter in split(&rest[1..end]) {
            match parameter {
                "self" | "&self" => signature.is_static = false,
                _ => signature.parameters.push(parameter.split_once(": ").ok_or_else(|| format!("{parameter} has no type"))?),
            }
        }
        Ok(signature)
    }
}

/// A field of settings.
pub(crate) struct Field {
    /// How Rust names it, from the settings on: `window.kernel`.
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) ty: String,
}

/// A variant of a choice.
pub(crate) struct Variant {
    pub(crate) name: String,
    /// The type in its parentheses.
    pub(crate) inner: Option<String>,
}

/// Types by their sources.
pub(crate) struct Types {
    pub(crate) sources: Vec<String>,
}

impl Types {
    /// What stands in the braces of a public struct or enum.
    fn body(&self, kind: &str, name: &str) -> Option<&str> {
        let start = format!("pub {kind} {name} {{");
        let text = self.sources.iter().find_map(|text| text.split_once(&start))?.1;
        text.split_once("\n}").map(|(body, _)| body)
    }

    /// The fields of settings, with those of settings in them; `None` for a type that is none.
    pub(crate) fn settings(&self, ty: &str) -> Result<Option<Vec<Field>>, String> {
        let name = ty.trim_start_matches('&');
        if !name.ends_with("Options") {
            return Ok(None);
        }
        let body = self.body("struct", name).ok_or_else(|| format!("{name} has no fields"))?;
        let mut fields = Vec::new();
        for (name, ty) in body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.trim_end_matches(',').split_once(": ")) {
            match self.settings(ty)? {
                Some(inner) => fields.extend(inner.into_iter().map(|field| Field { path: format!("{name}.{}", field.path), ..field })),
                None => fields.push(Field { path: name.to_owned(), name: name.to_owned(), ty: ty.to_owned() }),
            }
        }
        Ok(Some(fields))
    }

    /// The variants of an enum; `None` for what is none.
    pub(crate) fn variants(&self, name: &str) -> Option<Vec<Variant>> {
        let lines = self.body("enum", name)?.lines().map(|line| line.trim().trim_end_matches(','));
        let of_line = |line: &str| match line.split_once('(') {
            Some((name, inner)) => Variant { name: name.to_owned(), inner: Some(inner.trim_end_matches(')').to_owned()) },
            None => Variant { name: line.split(' ').next().unwrap_or(line).to_owned(), inner: None },
        };
        Some(lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())).map(of_line).collect())
    }
}

/// As PyTorch calls it, and no word of Python's.
pub(crate) fn renamed(name: &str) -> String {
    match name {
        "axis" | "axes" => "dim".to_owned(),
        "axis0" => "dim0".to_owned(),
        "axis1" => "dim1".to_owned(),
        "w" => "weight".to_owned(),
        name if KEYWORDS.contains(&name) => format!("{name}_"),
        name => name.to_owned(),
    }
}

/// Documentation without links and without examples in Rust, so that it ends no string before its end.
pub(crate) fn docstring(doc: &str) -> String {
    let mut in_code = false;
    let lines = doc.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    });
    let text = lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n        ");
    let text = text.replace("[`Tensor::", "`").replace("[`", "`").replace("`]", "`").replace("        \n", "\n");
    let text = text.trim().replace('\\', "\\\\").replace("\"\"\"", "'''");
    if text.ends_with('"') { format!("{text} ") } else { text }
}

/// Where the parenthesis that a text begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Parts between commas that stand in no brackets.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// What stands between `start`, which ends with `<`, and the last `>`.
pub(crate) fn within<'a>(ty: &'a str, start: &str) -> Option<&'a str> {
    ty.strip_prefix(start)?.strip_suffix('>')
}

/// `OneName` as `one_name`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
