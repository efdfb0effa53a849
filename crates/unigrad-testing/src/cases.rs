//! The rows of the op table: inputs, options and PyTorch's answers, from the files that `scripts/golden_ops.py` and
//! `scripts/golden_points.py` write.
//!
//! In: text, its format described in that script. Out: [`Case`]s.

use crate::Values;
use std::fmt;
use unigrad_graph::{DType, numel};
use unigrad_tensor::registry::{Attribute, Attributes};

macro_rules! families {
    ($($family:ident),* $(,)?) => {
        /// The files of cases: family and text.
        pub const FAMILIES: &[(&str, &str)] = &[$((stringify!($family), include_str!(concat!("../goldens/", stringify!($family), ".txt")))),*];
    };
}
families!(
    unary, binary, view, reduce, index, linalg, conv, norm, loss, creation, special, rest, math, activation, statistics, arrange, select,
    networks, formats, margins, edges,
);

/// The cases of all files. A file that is ill-formed panics, for it is a part of the tests.
pub fn all() -> Vec<Case> {
    let cases = |(family, text): &(&str, &str)| parse(text).unwrap_or_else(|error| panic!("goldens/{family}.txt: {error}"));
    FAMILIES.iter().flat_map(cases).collect()
}

/// The value of an option, as it is written: an integer, a number, a list of integers (`-` without any), or a text.
fn attribute(text: &str) -> Attribute {
    let list = || text.split(',').map(|word| word.parse().ok()).collect::<Option<Vec<i64>>>();
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(value), _) => value.into(),
        (_, Ok(value)) => value.into(),
        _ if text == "-" => Attribute::Ints(Vec::new()),
        _ => list().map_or_else(|| text.into(), Attribute::Ints),
    }
}

/// An input or an output.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its dtype is whichever float dtype the case runs with.
    pub any_float: bool,
    /// Elements, exact in every float dtype if it is an input for any.
    pub values: Values,
}

/// One row: an op with inputs, options, and what comes out.
#[derive(Clone, Debug)]
pub struct Case {
    /// The op's name in the table.
    pub op: String,
    /// Its place among the op's cases.
    pub number: usize,
    /// Options.
    pub args: Attributes,
    /// What goes in.
    pub inputs: Vec<Array>,
    /// What PyTorch got.
    pub outputs: Vec<Array>,
    /// Gradients of `sum(output * weight)` by input.
    pub grads: Vec<(usize, Vec<f64>)>,
    /// Gradients of the weighted sum of the gradients by input.
    pub second: Vec<(usize, Vec<f64>)>,
}

impl Case {
    /// Whether an option is there and on.
    pub fn flag(&self, name: &str) -> bool {
        self.args.get(name) == Some(&Attribute::Int(1))
    }

    /// Whether the case runs in every float dtype.
    pub fn any_float(&self) -> bool {
        self.inputs.iter().any(|input| input.any_float)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.op, self.number)?;
        for input in &self.inputs {
            write!(f, " ")?;
            if !input.any_float {
                write!(f, "{}", input.values.dtype)?;
            }
            write!(f, "{:?}", input.values.shape)?;
        }
        write!(f, "{}", self.args)
    }
}

/// The weight of element `i` of an output in the sum that gradients are taken of.
pub fn weight(i: usize) -> f64 {
    ((7 * i + 3) % 13) as f64 / 4.0 - 1.5
}

/// The cases in a file's text.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut counts = rustc_hash::FxHashMap::<String, usize>::default();
    let mut op = "";
    for (number, line) in text.lines().enumerate() {
        let bad = |what: &str| format!("line {}: {what}: {}", number + 1, &line[..line.len().min(80)]);
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (kind, cases.last_mut()) {
            ("op", _) => op = rest,
            ("case", _) => {
                let count = counts.entry(op.to_string()).or_default();
                *count += 1;
                let words = rest.split(' ').filter_map(|word| word.split_once('='));
                let args = words.fold(Attributes::new(), |args, (key, value)| args.with(key, attribute(value)));
                let (op, number) = (op.to_string(), *count);
                cases.push(Case { op, number, args, inputs: vec![], outputs: vec![], grads: vec![], second: vec![] });
            }
            ("i", Some(case)) => case.inputs.push(array(rest).ok_or_else(|| bad("not an input"))?),
            ("o", Some(case)) => case.outputs.push(array(rest).ok_or_else(|| bad("not an output"))?),
            ("g" | "h", Some(case)) => {
                let (input, values) = rest.split_once(':').ok_or_else(|| bad("not a gradient"))?;
                let values: Option<Vec<f64>> = values.split_whitespace().map(|word| word.parse().ok()).collect();
                let gradients = if kind == "g" { &mut case.grads } else { &mut case.second };
                gradients.push((input.parse().map_err(|_| bad("not a gradient"))?, values.ok_or_else(|| bad("not numbers"))?));
            }
            _ => return Err(bad("not a line of cases")),
        }
    }
    Ok(cases)
}

fn array(text: &str) -> Option<Array> {
    let (head, words) = text.split_once(':')?;
    let (dtype, shape) = head.split_once(' ')?;
    let shape: Option<Vec<usize>> = if shape == "-" { Some(Vec::new()) } else { shape.split(',').map(|size| size.parse().ok()).collect() };
    let shape = shape?;
    let any_float = dtype == "float";
    let dtype = if any_float { DType::F64 } else { DType::ALL.into_iter().chain(DType::STORED).find(|d| d.name() == dtype)? };
    let mut words = words.split_whitespace();
    let values = if dtype.is_float() {
        Values::float(dtype, &shape, words.by_ref().take(numel(&shape)).map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>()?)
    } else {
        let number = |word: &str| word.parse::<i64>().ok().or_else(|| word.parse::<u64>().ok().map(|value| value as i64));
        let truth = |word: &str| match word {
            "True" => Some(1),
            "False" => Some(0),
            word => number(word),
        };
        Values::int(dtype, &shape, words.by_ref().take(numel(&shape)).map(truth).collect::<Option<Vec<i64>>>()?)
    };
    (values.len() == numel(&shape) && words.next().is_none()).then_some(Array { any_float, values })
}
