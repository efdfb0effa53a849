//! The ops of Python's `Tensor`: a native method for each op that Python calls as Rust does.
//!
//! In: the table of public methods, the list of those that are no ops, the sources of settings and choices, and the hand-written files of the
//! Python crate. Out: `tensor/ops.rs` there.
//! Always: an op without a hand-written method has one here; keywords are those of the stub or PyTorch's ([`NAMES`]); settings are keywords with the defaults of Rust.
//! A type that has no form is an error.
//! Never: computes, or says another default than [`DEFAULTS`] and the settings' own.

use crate::{
    declared::{Declared, Signature, Types, docstring, renamed, snake, split, within},
    registry::Method,
    source,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
};

const FOLDER: &str = "crates/unigrad-py/src/tensor";

/// An example for each method, a line `name: call -> result`: it ends the method's documentation, and the package's tests run it.
const EXAMPLES: &str = "crates/unigrad-py/src/tensor/examples.txt";

const HEADER: &str = "//! The ops that Python calls as Rust does: made from the table of methods by `cargo xtask generate`.\n\n";

/// PyTorch's names of arguments that Rust calls otherwise: the method, Rust's name, PyTorch's.
const NAMES: &[(&str, &str, &str)] = &[
    ("addcdiv", "a", "tensor1"),
    ("addcdiv", "b", "tensor2"),
    ("addcmul", "a", "tensor1"),
    ("addcmul", "b", "tensor2"),
    ("addmv", "matrix", "mat"),
    ("addmv", "vector", "vec"),
    ("addr", "a", "vec1"),
    ("addr", "b", "vec2"),
    ("baddbmm", "a", "batch1"),
    ("baddbmm", "b", "batch2"),
    ("nan_to_num", "negative", "neginf"),
    ("nan_to_num", "positive", "posinf"),
];

/// Methods whose number becomes an element of the tensor: one that its dtype does not hold is refused.
const ELEMENTS: &[&str] = &["index_fill", "masked_fill"];

/// Methods whose number limits the tensor's elements: of one that its dtype does not hold the nearest that it does is meant.
const LIMITS: &[&str] = &["maximum", "minimum"];

/// PyTorch's defaults of arguments that Rust asks for.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("addcdiv", "value", "Other::ONE"),
    ("addcmul", "value", "Other::ONE"),
    ("addmv", "beta", "1.0"),
    ("addmv", "alpha", "1.0"),
    ("addr", "beta", "1.0"),
    ("addr", "alpha", "1.0"),
    ("baddbmm", "beta", "1.0"),
    ("baddbmm", "alpha", "1.0"),
    ("bincount", "weights", "None"),
    ("bincount", "minlength", "0"),
    ("cdist", "p", "2.0"),
    ("celu", "alpha", "1.0"),
    ("cosine_embedding_loss", "margin", "0.0"),
    ("cosine_similarity", "dim", "1"),
    ("cosine_similarity", "eps", "1e-8"),
    ("cov", "correction", "1"),
    ("cross", "dim", "-1"),
    ("cumulative_trapezoid", "dx", "1.0"),
    ("cumulative_trapezoid", "dim", "-1"),
    ("dice_loss", "smooth", "1.0"),
    ("elu", "alpha", "1.0"),
    ("focal_loss", "alpha", "0.25"),
    ("focal_loss", "gamma", "2.0"),
    ("gaussian_nll_loss", "full", "false"),
    ("gaussian_nll_loss", "eps", "1e-6"),
    ("glu", "dim", "-1"),
    ("group_norm", "weight", "None"),
    ("group_norm", "bias", "None"),
    ("group_norm", "eps", "1e-5"),
    ("hardshrink", "lambd", "0.5"),
    ("hinge_embedding_loss", "margin", "1.0"),
    ("huber_loss", "delta", "1.0"),
    ("isclose", "rtol", "1e-5"),
    ("isclose", "atol", "1e-8"),
    ("isclose", "equal_nan", "false"),
    ("kl_div", "log_target", "false"),
    ("layer_norm", "weight", "None"),
    ("layer_norm", "bias", "None"),
    ("layer_norm", "eps", "1e-5"),
    ("layer_norm_over", "weight", "None"),
    ("layer_norm_over", "bias", "None"),
    ("layer_norm_over", "eps", "1e-5"),
    ("leaky_relu", "slope", "0.01"),
    ("local_response_norm", "alpha", "1e-4"),
    ("local_response_norm", "beta", "0.75"),
    ("local_response_norm", "k", "1.0"),
    ("margin_ranking_loss", "margin", "0.0"),
    ("multi_margin_loss", "p", "1"),
    ("multi_margin_loss", "margin", "1.0"),
    ("multi_margin_loss", "weight", "None"),
    ("nan_to_num", "nan", "0.0"),
    ("nan_to_num", "neginf", "None"),
    ("nan_to_num", "posinf", "None"),
    ("normalize", "p", "2.0"),
    ("normalize", "dim", "1"),
    ("normalize", "eps", "1e-12"),
    ("pairwise_distance", "p", "2.0"),
    ("pairwise_distance", "eps", "1e-6"),
    ("poisson_nll_loss", "log_input", "true"),
    ("poisson_nll_loss", "full", "false"),
    ("poisson_nll_loss", "eps", "1e-8"),
    ("put", "accumulate", "false"),
    ("rms_norm", "weight", "None"),
    ("rms_norm", "eps", "1e-6"),
    ("round_decimals", "decimals", "0"),
    ("smooth_l1_loss", "beta", "1.0"),
    ("softshrink", "lambd", "0.5"),
    ("trapezoid", "dx", "1.0"),
    ("trapezoid", "dim", "-1"),
];

/// Ops whose method in Python is that of another one, with a keyword.
const WITHIN: &[(&str, &str)] = &[
    ("addmm_with", "addmm"),
    ("argmax_all", "argmax"),
    ("argmin_all", "argmin"),
    ("avg_pool_with_divisor", "avg_pool2d"),
    ("cummax_with_index", "cummax"),
    ("cummin_with_index", "cummin"),
    ("diag_embed_with", "diag_embed"),
    ("div_trunc", "div"),
    ("expand_with", "expand"),
    ("max_pool_with_index", "max_pool2d"),
    ("max_with_index", "max"),
    ("min_with_index", "min"),
    ("movedims", "movedim"),
    ("pad_or_cut", "pad"),
    ("pad_with", "pad"),
    ("repeat_interleave_by", "repeat_interleave"),
    ("roll_axes", "roll"),
    ("round_decimals", "round"),
    ("split_at", "tensor_split"),
    ("split_sizes", "split"),
    ("squeeze_axes", "squeeze"),
    ("unique_with", "unique"),
    ("unique_slices", "unique"),
    ("unique_consecutive_slices", "unique_consecutive"),
    ("cov_with", "cov"),
    ("var_with", "var"),
];

/// The lines of [`EXAMPLES`].
fn examples(text: &str) -> Result<BTreeMap<&str, (&str, &str)>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parts = |line| -> Option<_> {
        let (name, example): (&str, &str) = str::split_once(line, ": ")?;
        Some((name, example.rsplit_once(" -> ")?))
    };
    lines.map(|line| parts(line).ok_or_else(|| format!("{EXAMPLES}: {line}: a line is `name: call -> result`"))).collect()
}

/// How a parameter is taken from Python and given to Rust.
struct Parameter {
    name: String,
    /// Its type in the method's signature.
    ty: String,
    /// What Rust is given.
    given: String,
    default: Option<String>,
    /// Whether `axis` is another name for it.
    is_dim: bool,
}

/// The file.
pub(crate) fn ops() -> Result<String, String> {
    let declared = Declared::read()?;
    let text = fs::read_to_string(source::root().join(EXAMPLES)).map_err(|error| format!("{EXAMPLES}: {error}"))?;
    let mut maker = Maker { types: &declared.types, enums: BTreeSet::new(), examples: examples(&text)? };
    maker.of_methods(&declared.methods, &declared.not_ops, by_hand()?)
}

/// What the hand-written files of `Tensor` have.
#[derive(Default)]
struct ByHand {
    /// The methods that they define.
    methods: BTreeSet<String>,
    /// The choices whose names they read: `ops::named_one_name` for `OneName`.
    choices: BTreeSet<String>,
}

fn by_hand() -> Result<ByHand, String> {
    let mut found = ByHand::default();
    for file in source::rust_files(&source::root().join(FOLDER)).iter().filter(|file| !file.ends_with("ops.rs")) {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let names =
            text.split("ops::named_").skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or(""));
        found.choices.extend(names.map(pascal));
        for line in text.lines().map(str::trim_start) {
            let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
            let Some(rest) = line.strip_prefix("fn ") else {
                if let Some((_, rows)) = line.split_once("!(").filter(|_| line.ends_with(");")) {
                    let words = rows.split([' ', ',', ')']).filter(|word| word.contains('_') || word.contains("conv"));
                    found.methods.extend(words.map(str::to_owned));
                }
                // A row of a macro: `sum sum_keepdim,`, `all as all all_keepdim,`, `float = F32,`, `zeros,`.
                let word = line.split([' ', ',']).next().unwrap_or(line);
                if line.ends_with(',')
                    && !word.is_empty()
                    && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
                {
                    found.methods.insert(word.to_owned());
                }
                continue;
            };
            found.methods.insert(rest.trim_start_matches("r#").split(['(', '<']).next().unwrap_or(rest).to_owned());
        }
    }
    Ok(found)
}

/// `one_name` as `OneName`.
fn pascal(name: &str) -> String {
    let word = |word: &str| word.chars().enumerate().map(|(i, c)| if i == 0 { c.to_ascii_uppercase() } else { c }).collect::<String>();
    name.split('_').map(word).collect()
}

struct Maker<'a> {
    types: &'a Types,
    /// Choices by name that occur.
    enums: BTreeSet<String>,
    /// By a method's name: a call, and what it gives.
    examples: BTreeMap<&'a str, (&'a str, &'a str)>,
}

impl Maker<'_> {
    fn of_methods(&mut self, methods: &[Method], others: &BTreeSet<String>, by_hand: ByHand) -> Result<String, String> {
        let (mut body, mut settings) = (String::new(), BTreeSet::new());
        let ByHand { methods: by_hand, choices } = by_hand;
        self.enums.extend(choices);
        for method in methods.iter().filter(|method| !others.contains(&method.name)) {
            let name = renamed(&method.name);
            // What is reduced with its axes kept is a keyword of the other; functions of lists are functions of the module; `x.i(..)` is `x[..]`.
            if method.name.ends_with("_keepdim") || by_hand.contains(&name) || !method.signature.contains("self") || method.name == "i" {
                continue;
            }
            if let Some((_, other)) = WITHIN.iter().find(|(own, _)| *own == method.name) {
                if !by_hand.contains(*other) {
                    return Err(format!("{} is a keyword of `{other}`, which no file has", method.name));
                }
                continue;
            }
            let text = self.of_method(method, &name, &mut settings).map_err(|error| format!("{}: {error}", method.signature))?;
            body.push_str(&text);
        }
        let mut own: Vec<String> = self.enums.iter().cloned().chain(settings).collect();
        own.sort();
        let mut out = HEADER.to_owned();
        let all = format!("{body}{}", self.enums.iter().map(|choice| self.choice(choice)).collect::<Result<String, String>>()?);
        let used = |names: &[&str], mark: &str| -> String {
            names.iter().copied().filter(|name| all.contains(&format!("{name}{mark}"))).collect::<Vec<_>>().join(", ")
        };
        let types = (used(&["Ints", "Other", "PyAxes", "Sizes"], ""), used(&["dim_or_axis", "of_argument", "one_dim"], "("));
        let _ = writeln!(out, "use super::{{PyTensor, {}}};", used(&["all_made", "made", "tuple"], "(py"));
        let _ = writeln!(out, "use crate::{{arguments::{{{}, {}}}, dtype::PyDType, error::argument}};", types.0, types.1);
        out.push_str("use pyo3::{prelude::*, types::PyTuple};\n");
        let _ = writeln!(out, "use unigrad::tensor::{{{}}};\n", own.join(", "));
        out.push_str("#[pymethods]\n#[expect(clippy::too_many_arguments, reason = \"settings are keywords\")]\nimpl PyTensor {\n");
        out.push_str(body.trim_end());
        out.push_str("\n}\n");
        for choice in &self.enums {
            out.push_str(&self.choice(choice)?);
        }
        Ok(out)
    }

    fn of_method(&mut self, method: &Method, name: &str, settings: &mut BTreeSet<String>) -> Result<String, String> {
        let Signature { parameters, result, .. } = Signature::of(method)?;
        let mut taken: Vec<Parameter> = Vec::new();
        let (mut keywords, mut before, mut given) = (Vec::new(), String::new(), Vec::new());
        for (own, ty) in parameters {
            if let Some(fields) = self.types.settings(ty)? {
                let bare = ty.trim_start_matches('&');
                settings.insert(bare.to_owned());
                let _ = writeln!(before, "        let mut options = {bare}::default();");
                for field in fields {
                    let made = self.parameter(&method.name, &field.name, &field.ty)?;
                    let value = owned(&made, &field.ty);
                    let _ = writeln!(
                        before,
                        "        if let Some({0}) = {0} {{\n            options.{1} = {value};\n        }}",
                        made.name, field.path
                    );
                    keywords.push(made);
                }
                given.push("&options".to_owned());
                continue;
            }
            let made = self.parameter(&method.name, own, ty)?;
            given.push(made.given.clone());
            taken.push(made);
        }
        // A parameter that may be left out has none behind it that may not.
        let required = taken.iter().rposition(|made| made.default.is_none()).map_or(0, |at| at + 1);
        let (mut signature, mut arguments) = (Vec::new(), Vec::new());
        let dim = taken.iter().position(|made| made.is_dim).filter(|at| *at + 1 >= required);
        for (at, made) in taken.iter().enumerate() {
            let is_dim = dim == Some(at);
            let default = if at < required && !is_dim { None } else { made.default.clone().or_else(|| is_dim.then(|| "None".to_owned())) };
            signature.push(
                default.map_or_else(
                    || made.name.clone(),
                    |default| format!("{}={}", made.name, if is_dim { "None" } else { default.as_str() }),
                ),
            );
            arguments.push(format!("{}: {}", made.name, if is_dim { optional(&made.ty) } else { made.ty.clone() }));
        }
        if dim.is_some() || !keywords.is_empty() {
            signature.push("*".to_owned());
        }
        for made in &keywords {
            signature.push(format!("{}=None", made.name));
            arguments.push(format!("{}: {}", made.name, optional(&made.ty)));
        }
        if let Some(at) = dim {
            let made = &taken[at];
            signature.push("axis=None".to_owned());
            arguments.push(format!("axis: {}", optional(&made.ty)));
            let resolve = match (made.ty.as_str(), &made.default) {
                ("PyAxes", _) => "dim_or_axis(dim, axis)?.unwrap_or(PyAxes(None))".to_owned(),
                ("Ints", _) => "dim_or_axis(dim, axis)?.ok_or_else(|| pyo3::exceptions::PyTypeError::new_err(\"missing argument: `dim` (or `axis`)\"))?".to_owned(),
                (_, Some(default)) => format!("dim_or_axis(dim, axis)?.unwrap_or({default})"),
                (_, None) => "one_dim(dim, axis)?".to_owned(),
            };
            before.insert_str(0, &format!("        let dim = {resolve};\n"));
        }
        let mut out = String::new();
        for line in in_own_names(&method.name, &docstring(&method.doc)).replace("\\\\", "\\").lines() {
            let line = line.trim();
            let _ = writeln!(out, "    ///{}{line}", if line.is_empty() { "" } else { " " });
        }
        // A method that one of the package's own replaces needs none; a test of the package finds what else has none.
        if let Some((call, what_it_gives)) = self.examples.get(name) {
            let _ = writeln!(out, "    ///\n    /// >>> import unigrad\n    /// >>> {call}\n    /// {what_it_gives}");
        }
        if !signature.is_empty() {
            let _ = writeln!(out, "    #[pyo3(signature = ({}))]", signature.join(", "));
        }
        let call = format!("self.tensor().{}({})", method.name, given.join(", "));
        // What a call may refuse is found out before the op.
        let mut head = String::new();
        let call = hoisted(&call, &mut head);
        let (result, body) = match result {
            "Tensor" => ("PyResult<PyTensor>".to_owned(), format!("made(py, || {call})")),
            "Vec<Tensor>" => ("PyResult<Vec<PyTensor>>".to_owned(), format!("all_made(py, || {call})")),
            "(Tensor, Tensor)" => tupled(&call, 2),
            "(Tensor, Tensor, Tensor)" => tupled(&call, 3),
            other => return Err(format!("the result {other} has no form in Python: write the method by hand")),
        };
        let lifetime = if result.contains("'py") { "<'py>" } else { "" };
        let py = if lifetime.is_empty() { "Python<'_>" } else { "Python<'py>" };
        let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
        let _ = writeln!(out, "    fn {name}{lifetime}(&self, py: {py}{arguments}) -> {result} {{\n{before}{head}        {body}\n    }}\n");
        Ok(out)
    }

    fn parameter(&mut self, method: &str, own: &str, ty: &str) -> Result<Parameter, String> {
        let of_pytorch = NAMES.iter().find(|(of, rust, _)| *of == method && *rust == own).map(|(.., name)| *name);
        let name = match own {
            "lambda" => "lambd".to_owned(),
            own => of_pytorch.map_or_else(|| renamed(own), str::to_owned),
        };
        let default =
            DEFAULTS.iter().find(|(of, parameter, _)| *of == method && *parameter == name).map(|(.., default)| (*default).to_owned());
        let n = &name;
        let is_dim = name == "dim" && matches!(ty, "isize" | "impl Axes" | "impl crate::Axes" | "impl Ints");
        let (ty, given) = match ty {
            "&Tensor" => ("&PyTensor".to_owned(), format!("{n}.tensor()")),
            "Option<&Tensor>" | "Option<Tensor>" => ("Option<&PyTensor>".to_owned(), format!("{n}.map(PyTensor::tensor)")),
            "impl Into<Operand>" | "Operand" if ELEMENTS.contains(&method) => {
                ("Other".to_owned(), format!("{n}.within(py, self.tensor())?"))
            }
            "impl Into<Operand>" | "Operand" if LIMITS.contains(&method) => {
                ("Other".to_owned(), format!("{n}.limiting(py, self.tensor())?"))
            }
            "impl Into<Operand>" | "Operand" => ("Other".to_owned(), format!("{n}.beside(py, self.tensor())?")),
            "Option<Operand>" => ("Option<Other>".to_owned(), format!("{n}.map(|given| given.beside(py, self.tensor())).transpose()?")),
            "impl Axes" | "impl crate::Axes" => ("PyAxes".to_owned(), n.clone()),
            "impl Dims" => ("Sizes".to_owned(), format!("{n}.0")),
            "impl Ints" => ("Ints".to_owned(), n.clone()),
            "&[usize]" | "Vec<usize>" => ("Sizes".to_owned(), format!("&{n}.0")),
            "&[i64]" => ("Ints".to_owned(), format!("&{n}.0")),
            "Option<&[usize]>" => ("Option<Sizes>".to_owned(), format!("{n}.as_ref().map(|sizes| sizes.0.as_slice())")),
            "Option<Vec<usize>>" => ("Option<Sizes>".to_owned(), format!("{n}.map(|sizes| sizes.0)")),
            "DType" => ("PyDType".to_owned(), format!("{n}.0")),
            "&[(usize, usize)]" => ("Vec<(usize, usize)>".to_owned(), format!("&{n}")),
            "&[(i64, i64)]" => ("Vec<(i64, i64)>".to_owned(), format!("&{n}")),
            "Vec<(usize, usize)>" | "Vec<f64>" => (ty.to_owned(), n.clone()),
            "isize" | "usize" | "i32" | "i64" | "u32" | "u64" | "f64" | "bool" | "Option<f64>" | "Option<usize>" | "Option<i64>"
            | "Option<Vec<f64>>" | "Option<isize>" => (ty.to_owned(), n.clone()),
            choice => {
                let choice = choice.trim_start_matches("Option<").trim_end_matches('>');
                self.types
                    .variants(choice)
                    .ok_or_else(|| format!("the type {ty} has no form in Python: add one to xtask/src/python.rs"))?;
                self.enums.insert(choice.to_owned());
                let function = format!("named_{}", snake(choice));
                match ty.starts_with("Option<") {
                    true => {
                        ("Option<&str>".to_owned(), format!("of_argument(py, \"{n}\", {n}.map(|name| {function}(py, name)).transpose())?"))
                    }
                    false => ("&str".to_owned(), format!("of_argument(py, \"{n}\", {function}(py, {n}))?")),
                }
            }
        };
        // Losses are means unless they are asked for otherwise.
        let default = default.or_else(|| (own == "reduction").then(|| "\"mean\"".to_owned()));
        let default = default.or_else(|| ty.starts_with("Option<").then(|| "None".to_owned()));
        Ok(Parameter { name, ty, given, default, is_dim })
    }

    /// The function that finds a choice by its name.
    fn choice(&self, name: &str) -> Result<String, String> {
        let (mut arms, mut names, mut numbered) = (String::new(), Vec::new(), None);
        for variant in self.types.variants(name).ok_or_else(|| format!("{name} is no enum"))? {
            if variant.inner.is_some() {
                numbered = Some(variant.name);
                continue;
            }
            let _ = writeln!(arms, "        \"{}\" => {name}::{},", snake(&variant.name), variant.name);
            names.push(snake(&variant.name));
        }
        let other = match &numbered {
            Some(variant) => format!(
                "        other => match other.parse() {{\n            Ok(number) => {name}::{variant}(number),\n            Err(_) => return Err(argument(py, format!(\"{{other:?}} is none of the choices\"), \"choose {} or a number\")),\n        }},\n",
                names.join(", ")
            ),
            None => format!(
                "        other => return Err(argument(py, format!(\"{{other:?}} is none of the choices\"), \"choose {}\")),\n",
                names.join(", ")
            ),
        };
        Ok(format!(
            "\npub(super) fn named_{}(py: Python<'_>, name: &str) -> PyResult<{name}> {{\n    Ok(match name {{\n{arms}{other}    }})\n}}\n",
            snake(name)
        ))
    }
}

/// Documentation whose code has PyTorch's names of the arguments: [`NAMES`].
fn in_own_names(method: &str, doc: &str) -> String {
    let named = |word: &str| NAMES.iter().find(|(of, rust, _)| *of == method && *rust == word).map_or(word, |(.., name)| name).to_owned();
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let in_code = |code: &str| -> String {
        // Each word with the one character behind it.
        let words = code.split_inclusive(|c| !is_of_word(c)).map(|part| part.split_at(part.trim_end_matches(|c| !is_of_word(c)).len()));
        words.map(|(word, rest)| named(word) + rest).collect()
    };
    let parts = doc.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { in_code(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// The type of an argument that may be left out.
fn optional(ty: &str) -> String {
    if within(ty, "Option<").is_some() { ty.to_owned() } else { format!("Option<{ty}>") }
}

/// A setting's value, for a field that owns it.
fn owned(made: &Parameter, ty: &str) -> String {
    match ty {
        "Option<Tensor>" => format!("Some({}.tensor().clone())", made.name),
        "Vec<usize>" => format!("{}.0", made.name),
        "Option<Vec<usize>>" => format!("Some({}.0)", made.name),
        "Option<Operand>" => format!("Some({}.beside(py, self.tensor())?)", made.name),
        ty if ty.starts_with("Option<") && made.ty == "Option<&str>" => {
            format!("Some(named_{}(py, {})?)", snake(ty.trim_start_matches("Option<").trim_end_matches('>')), made.name)
        }
        ty if ty.starts_with("Option<") => format!("Some({})", made.name),
        _ => made.given.clone(),
    }
}

/// Moves arguments that may be refused before the closure in which the op is called.
fn hoisted(call: &str, head: &mut String) -> String {
    let Some((method, arguments)) = call.split_once("().").and_then(|(_, rest)| rest.split_once('(')) else { return call.to_owned() };
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let moved: Vec<String> = split(arguments)
        .into_iter()
        .enumerate()
        .map(|(i, argument)| {
            if !argument.ends_with('?') {
                return argument.to_owned();
            }
            let _ = writeln!(head, "        let given_{i} = {argument};");
            format!("given_{i}")
        })
        .collect();
    format!("self.tensor().{method}({})", moved.join(", "))
}

fn tupled(call: &str, n: usize) -> (String, String) {
    let names: Vec<String> = (0..n).map(|i| format!("part_{i}")).collect();
    let body = format!("tuple(py, || {{\n            let ({0}) = {call};\n            vec![{0}]\n        }})", names.join(", "));
    ("PyResult<Bound<'py, PyTuple>>".to_owned(), body)
}
