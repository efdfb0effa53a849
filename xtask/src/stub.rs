//! The Python stub of `Tensor`'s ops: what a type checker and an editor know of them.
//!
//! In: the table of public methods, the list of those that are no ops, and the sources of the settings and choices that ops take.
//! Out: `registry/ops.pyi`: a class with a method for each op, its documentation as docstring.
//! Always: keywords are PyTorch's where Rust's differ (`dim` for an axis or axes, `keepdim` instead of a second method); settings are keywords by the
//! names of their fields, choices are their names in small letters. A type that has no form in Python is an error.
//! Never: runs anything, or says what a default is.

use crate::registry::{Method, methods};
use crate::source;
use std::{collections::BTreeSet, fmt::Write, fs};

const HEADER: &str = r#"# The ops of `Tensor`, made from the registry by `cargo xtask generate`.

from collections.abc import Sequence
from typing import Literal

Number = bool | int | float
Nested = Number | Sequence["Nested"]
Index = int | slice | None | "Tensor" | Sequence[int | slice | None | "Tensor"]

class DType: ...
class Device: ...

class Tensor:
"#;

/// Python's words that no parameter and no method can have for a name.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for",
    "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with",
    "yield",
];

/// The file.
pub(crate) fn stub() -> Result<String, String> {
    let registry = source::root().join("crates/unigrad-tensor/src/registry/others.rs");
    let text = fs::read_to_string(&registry).map_err(|error| format!("{}: {error}", registry.display()))?;
    let others = not_ops(&text)?;
    let sources = source::rust_files(&source::root().join("crates"))
        .iter()
        .filter(|file| ["unigrad-tensor/src", "unigrad-scalar/src"].iter().any(|part| file.to_string_lossy().contains(part)))
        .map(|file| fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display())))
        .collect::<Result<Vec<String>, String>>()?;
    of_methods(&methods()?, &others, &Types { sources: &sources })
}

/// The names in the list of methods that are no ops.
pub(crate) fn not_ops(text: &str) -> Result<BTreeSet<String>, String> {
    let (_, list) = text.split_once("pub const NOT_OPS").ok_or("no list of methods that are no ops")?;
    // The names of a group are between its inner brackets: `("why", &["name", ..])`.
    let groups = list.split("&[").skip(2).filter_map(|part| part.split_once(']')).map(|(names, _)| names);
    let names: BTreeSet<String> = groups.flat_map(|names| names.split('"').skip(1).step_by(2)).map(str::to_owned).collect();
    if names.is_empty() { Err("the list of methods that are no ops is empty".into()) } else { Ok(names) }
}

fn of_methods(methods: &[Method], others: &BTreeSet<String>, types: &Types) -> Result<String, String> {
    let names: BTreeSet<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    let mut out = HEADER.to_owned();
    for method in methods.iter().filter(|method| !others.contains(&method.name)) {
        if method.name.strip_suffix("_keepdim").is_some_and(|plain| names.contains(plain)) {
            continue;
        }
        let keeps = names.contains(format!("{}_keepdim", method.name).as_str());
        let text = of_method(method, keeps, types).map_err(|error| format!("{}: {error}", method.signature))?;
        out.push_str(&text);
    }
    Ok(out)
}

fn of_method(method: &Method, keeps: bool, types: &Types) -> Result<String, String> {
    let rest = method.signature.find('(').map(|at| &method.signature[at..]).ok_or("no parameters")?;
    let end = closing(rest).ok_or("no end of the parameters")?;
    let (parameters, result) = (&rest[1..end], rest[end + 1..].trim());
    let result =
        result.strip_prefix("->").map_or(Ok("None".to_owned()), |ty| types.result(ty.split(" where ").next().unwrap_or(ty).trim()))?;
    let (mut all, mut keywords, mut is_static) = (Vec::new(), Vec::new(), true);
    for parameter in split(parameters) {
        if matches!(parameter, "self" | "&self") {
            is_static = false;
            continue;
        }
        let (name, ty) = parameter.split_once(": ").ok_or_else(|| format!("{parameter} has no type"))?;
        match types.settings(ty)? {
            Some(fields) => keywords.extend(fields),
            None => all.push((renamed(name), types.of(ty)?)),
        }
    }
    // A parameter that may be left out has none behind it that may not.
    let required = all.iter().rposition(|(_, ty)| !may_be_none(ty)).map_or(0, |at| at + 1);
    let mut shown: Vec<String> = if is_static { Vec::new() } else { vec!["self".to_owned()] };
    shown.extend(all.iter().enumerate().map(|(i, (name, ty))| format!("{name}: {ty}{}", if i < required { "" } else { " = None" })));
    if keeps {
        shown.push("keepdim: bool = False".to_owned());
    }
    if !keywords.is_empty() {
        shown.push("*".to_owned());
        shown.extend(keywords.iter().map(|(name, ty)| format!("{name}: {ty} = ...")));
    }
    let mut out = String::from(if is_static { "    @staticmethod\n" } else { "" });
    let _ = writeln!(out, "    def {}({}) -> {result}:", renamed(&method.name), shown.join(", "));
    let _ = writeln!(out, "        \"\"\"{}\"\"\"\n        ...\n", docstring(&method.doc));
    Ok(out)
}

fn may_be_none(ty: &str) -> bool {
    ty.ends_with(" | None")
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

/// Where the parenthesis that a text begins with is closed.
pub(crate) fn closing(text: &str) -> Option<usize> {
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

/// Types by their sources.
pub(crate) struct Types<'a> {
    pub(crate) sources: &'a [String],
}

impl Types<'_> {
    /// What stands in the braces of a public struct or enum.
    pub(crate) fn body(&self, kind: &str, name: &str) -> Option<&str> {
        let start = format!("pub {kind} {name} {{");
        let text = self.sources.iter().find_map(|text| text.split_once(&start))?.1;
        text.split_once("\n}").map(|(body, _)| body)
    }

    /// The fields of settings, as keywords.
    fn settings(&self, ty: &str) -> Result<Option<Vec<(String, String)>>, String> {
        let Some(body) = ty.trim_start_matches('&').strip_suffix("Options").and_then(|_| self.body("struct", ty.trim_start_matches('&')))
        else {
            return Ok(None);
        };
        let mut fields = Vec::new();
        for (name, ty) in body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.trim_end_matches(',').split_once(": ")) {
            match self.settings(ty)? {
                Some(inner) => fields.extend(inner),
                None => fields.push((renamed(name), self.of(ty)?)),
            }
        }
        Ok(Some(fields))
    }

    /// A parameter's type.
    fn of(&self, ty: &str) -> Result<String, String> {
        if let Some(inner) = within(ty, "Option<") {
            return Ok(format!("{} | None", self.of(inner)?));
        }
        let list = within(ty, "Vec<").or_else(|| ty.strip_prefix("&[").and_then(|rest| rest.strip_suffix(']')));
        if let Some(inner) = list {
            return Ok(format!("Sequence[{}]", self.of(inner)?));
        }
        if let Some(inner) = ty.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).filter(|inner| !inner.is_empty()) {
            return Ok(format!("tuple[{}]", split(inner).into_iter().map(|ty| self.of(ty)).collect::<Result<Vec<_>, _>>()?.join(", ")));
        }
        if let Some((inner, count)) = ty.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).and_then(|rest| rest.split_once("; ")) {
            let count: usize = count.parse().map_err(|_| format!("{ty} has no length"))?;
            return Ok(format!("tuple[{}]", vec![self.of(inner)?; count].join(", ")));
        }
        let simple = match ty {
            "Tensor" | "&Tensor" => "Tensor",
            "Operand" | "impl Into<Operand>" => "Tensor | Number",
            "isize" | "usize" | "i32" | "i64" | "u32" | "u64" => "int",
            "f32" | "f64" => "float",
            "bool" => "bool",
            "&str" | "String" => "str",
            "DType" => "DType",
            "&Device" | "Device" => "Device",
            "impl Axes" | "impl crate::Axes" => "int | Sequence[int] | None",
            "impl Dims" | "impl Ints" => "int | Sequence[int]",
            "impl NestedValues" => "Nested",
            "impl Index" => "Index",
            _ => return self.choice(ty),
        };
        Ok(simple.to_owned())
    }

    /// An enum: its variants by their names, those with a number as that number.
    fn choice(&self, ty: &str) -> Result<String, String> {
        let body = self.body("enum", ty).ok_or_else(|| format!("the type {ty} has no form in Python: add one to xtask/src/stub.rs"))?;
        let (mut names, mut others) = (Vec::new(), Vec::new());
        for line in body.lines().map(str::trim).filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())) {
            match line.trim_end_matches(',').split_once('(') {
                Some((_, inner)) => others.push(self.of(inner.trim_end_matches(')'))?),
                None => names.push(format!("\"{}\"", snake(line.split([' ', ',']).next().unwrap_or(line)))),
            }
        }
        others.dedup();
        if !names.is_empty() {
            others.insert(0, format!("Literal[{}]", names.join(", ")));
        }
        if others.is_empty() { Err(format!("the enum {ty} has no variants")) } else { Ok(others.join(" | ")) }
    }

    /// The type of a result; errors are exceptions.
    fn result(&self, ty: &str) -> Result<String, String> {
        match ty {
            "()" => return Ok("None".to_owned()),
            "Vec<u8>" => return Ok("bytes".to_owned()),
            _ => {}
        }
        if let Some(inner) = within(ty, "Result<") {
            return self.result(inner);
        }
        if let Some(inner) = within(ty, "Vec<") {
            return Ok(format!("list[{}]", self.result(inner)?));
        }
        self.of(ty)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn method(name: &str, signature: &str, doc: &str) -> Method {
        Method { name: name.into(), signature: signature.into(), doc: doc.into() }
    }

    #[test]
    fn signatures_become_pythons() {
        let sources = ["pub struct PoolOptions {\n    /// Sizes.\n    pub kernel: Vec<usize>,\n    pub weight: Option<Tensor>,\n}\n\
                        pub enum PadMode {\n    Constant(f64),\n    HalfSplit,\n}\n"
            .to_owned()];
        let types = Types { sources: &sources };
        let methods = [
            method("pool", "pool(&self, n: usize, options: &PoolOptions) -> Tensor", "Says \"so\""),
            method("sum", "sum(&self, axes: impl Axes) -> Tensor", "Sum, as [`Tensor::mean`].\n\n```\nlet x;\n```"),
            method("sum_keepdim", "sum_keepdim(&self, axes: impl Axes) -> Tensor", ""),
            method("pad", "pad(&self, from: Option<&Tensor>, mode: PadMode, b: [isize; 2]) -> (Tensor, Tensor)", ""),
            method("split", "split(tensors: &[&Tensor], axis: isize) -> Vec<Tensor>", ""),
            method("other", "other(&self, f: impl Fn(&Tensor) -> Tensor)", ""),
        ];
        let others = BTreeSet::from(["other".to_owned()]);
        let text = of_methods(&methods, &others, &types).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("def") || line.starts_with("\"\"\"")).collect();
        assert_eq!(
            lines,
            [
                "def pool(self, n: int, *, kernel: Sequence[int] = ..., weight: Tensor | None = ...) -> Tensor:",
                "\"\"\"Says \"so\" \"\"\"",
                "def sum(self, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:",
                "\"\"\"Sum, as `mean`.\"\"\"",
                "def pad(self, from_: Tensor | None, mode: Literal[\"half_split\"] | float, b: tuple[int, int]) -> tuple[Tensor, Tensor]:",
                "\"\"\"\"\"\"",
                "def split(tensors: Sequence[Tensor], dim: int) -> list[Tensor]:",
                "\"\"\"\"\"\"",
            ]
        );
        let error = of_methods(&methods, &BTreeSet::new(), &types).unwrap_err();
        assert!(error.contains("impl Fn(&Tensor) -> Tensor has no form in Python"), "{error}");
    }

    /// By Python's own parser.
    #[test]
    fn the_stub_is_python() {
        let path = source::root().join("crates/unigrad-tensor/src/registry/ops.pyi");
        let program = "import ast, sys\ntree = ast.parse(open(sys.argv[1], encoding='utf-8').read())\n\
                       tensor = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == 'Tensor'][0]\n\
                       names = [node.name for node in tensor.body if isinstance(node, ast.FunctionDef)]\n\
                       assert len(names) == len(set(names)), 'a name twice'\n\
                       assert all(ast.get_docstring(node) for node in tensor.body), 'no docstring'\nprint(len(names))";
        let output = match Command::new("python3").arg("-c").arg(program).arg(&path).output() {
            Ok(output) => output,
            Err(error) => return println!("SKIPPED: the Python stub is not parsed: python3: {error}"),
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let count: usize = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        let methods = fs::read_to_string(&path).unwrap().lines().filter(|line| line.starts_with("    def ")).count();
        assert_eq!(count, methods);
    }
}
