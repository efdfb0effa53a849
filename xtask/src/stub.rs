//! The Python stub of `Tensor`'s ops: what a type checker and an editor know of them.
//!
//! In: the table of public methods, the list of those that are no ops, and the sources of the settings and choices that ops take.
//! Out: `registry/ops.pyi`: a class with a method for each op, its documentation as docstring.
//! Always: keywords are PyTorch's where Rust's differ (`dim` for an axis or axes, `keepdim` instead of a second method); settings are keywords by the
//! names of their fields, choices are their names in small letters. A type that has no form in Python is an error.
//! Never: runs anything, or says what a default is.

use crate::{
    declared::{Declared, Signature, Types, docstring, renamed, snake, split, within},
    registry::Method,
};
use std::{collections::BTreeSet, fmt::Write};

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

/// The file.
pub(crate) fn stub() -> Result<String, String> {
    let declared = Declared::read()?;
    of_methods(&declared.methods, &declared.not_ops, &declared.types)
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
    let signature = Signature::of(method)?;
    let result = if signature.result.is_empty() { "None".to_owned() } else { types.result(signature.result)? };
    let (mut all, mut keywords) = (Vec::new(), Vec::new());
    for (name, ty) in signature.parameters {
        match types.settings(ty)? {
            Some(fields) => {
                for field in fields {
                    keywords.push((renamed(&field.name), types.of(&field.ty)?));
                }
            }
            None => all.push((renamed(name), types.of(ty)?)),
        }
    }
    // A parameter that may be left out has none behind it that may not.
    let required = all.iter().rposition(|(_, ty)| !may_be_none(ty)).map_or(0, |at| at + 1);
    let mut shown: Vec<String> = if signature.is_static { Vec::new() } else { vec!["self".to_owned()] };
    shown.extend(all.iter().enumerate().map(|(i, (name, ty))| format!("{name}: {ty}{}", if i < required { "" } else { " = None" })));
    if keeps {
        shown.push("keepdim: bool = False".to_owned());
    }
    if !keywords.is_empty() {
        shown.push("*".to_owned());
        shown.extend(keywords.iter().map(|(name, ty)| format!("{name}: {ty} = ...")));
    }
    let mut out = String::from(if signature.is_static { "    @staticmethod\n" } else { "" });
    let _ = writeln!(out, "    def {}({}) -> {result}:", renamed(&method.name), shown.join(", "));
    let _ = writeln!(out, "        \"\"\"{}\"\"\"\n        ...\n", docstring(&method.doc));
    Ok(out)
}

fn may_be_none(ty: &str) -> bool {
    ty.ends_with(" | None")
}

/// Types as Python's type checkers write them.
impl Types {
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
        let variants = self.variants(ty).ok_or_else(|| format!("the type {ty} has no form in Python: add one to xtask/src/stub.rs"))?;
        let (mut names, mut others) = (Vec::new(), Vec::new());
        for variant in variants {
            match variant.inner {
                Some(inner) => others.push(self.of(&inner)?),
                None => names.push(format!("\"{}\"", snake(&variant.name))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;
    use std::{fs, process::Command};

    fn method(name: &str, signature: &str, doc: &str) -> Method {
        Method { name: name.into(), signature: signature.into(), doc: doc.into() }
    }

    #[test]
    fn signatures_become_pythons() {
        let sources = ["pub struct PoolOptions {\n    /// Sizes.\n    pub kernel: Vec<usize>,\n    pub weight: Option<Tensor>,\n}\n\
                        pub enum PadMode {\n    Constant(f64),\n    HalfSplit,\n}\n"
            .to_owned()];
        let types = Types { sources: sources.to_vec() };
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
