//! Elementwise ops and creation.

use super::{Call, Op, Outputs, one, op};
use crate::{DType, Tensor};

/// With the second input, or with the number that the attribute `scalar` holds: an integer where it is written as one.
fn two(
    c: &Call,
    with_tensor: fn(&Tensor, &Tensor) -> Tensor,
    with_float: fn(&Tensor, f64) -> Tensor,
    with_int: fn(&Tensor, i64) -> Tensor,
) -> Outputs {
    let x = c.x(0)?;
    if let Some(y) = c.maybe(1) {
        return one(with_tensor(x, y));
    }
    match c.attributes.get("scalar") {
        Some(super::Attribute::Int(scalar)) => one(with_int(x, *scalar)),
        _ => one(with_float(x, c.float("scalar")?)),
    }
}

macro_rules! unary {
    ($($name:literal $method:ident),* $(,)?) => { &[$(op($name, stringify!($method), |c| one(c.x(0)?.$method()))),*] };
}

macro_rules! binary {
    ($($name:literal $method:ident $($kind:ident)?),* $(,)?) => {
        &[$(op($name, stringify!($method), |c| two(c, |x, y| x.$method(y), |x, y| x.$method(y), |x, y| x.$method(y))).widest()$(.$kind())?),*]
    };
}

/// The row of a function of one number; what `Not` and `BitNot` are among tensors' methods is below.
macro_rules! function {
    (Truth $name:literal $method:ident) => {
        op("logical_not", "logical_not", |c| one(c.x(0)?.logical_not())).step()
    };
    (Bits $name:literal $method:ident) => {
        op("bitwise_not", "bitwise_not", |c| one(c.x(0)?.bitwise_not())).step()
    };
    (Test $name:literal $method:ident) => {
        op($name, stringify!($method), |c| one(c.x(0)?.$method())).step()
    };
    // PyTorch computes these in the dtype of their input; they keep the digits and the range that it has.
    (Real "sin" $method:ident) => { function!(@ "sin" $method) };
    (Real "cos" $method:ident) => { function!(@ "cos" $method) };
    (Real "atan" $method:ident) => { function!(@ "atan" $method) };
    (Real "tanh" $method:ident) => { function!(@ "tanh" $method) };
    (Real "sqrt" $method:ident) => { function!(@ "sqrt" $method) };
    (Real "sigmoid" $method:ident) => { function!(@ "sigmoid" $method) };
    (Real "silu" $method:ident) => { function!(@ "silu" $method) };
    (Real "gelu" $method:ident) => { function!(@ "gelu" $method) };
    (Real "gelu_tanh" $method:ident) => { function!(@ "gelu_tanh" $method) };
    (@ $name:literal $method:ident) => {
        op($name, stringify!($method), |c| one(c.x(0)?.$method()))
    };
    (Real $name:literal $method:ident) => {
        op($name, stringify!($method), |c| one(c.x(0)?.$method())).full()
    };
    ($class:ident $name:literal $method:ident) => {
        op($name, stringify!($method), |c| one(c.x(0)?.$method()))
    };
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal $row:tt)*) => {
        /// Functions of one number, from their table.
        const FUNCTIONS: &[Op] = &[$(function!($class $name $method)),*];
    };
}
unigrad_graph::each_unary!(functions);

const UNARY: &[Op] = unary!(
    "fract" fract, "relu6" relu6, "selu" selu, "mish" mish, "hardswish" hardswish, "hardsigmoid" hardsigmoid, "hardtanh" hardtanh,
    "softsign" softsign, "square" square, "logsigmoid" log_sigmoid,
);

const BINARY: &[Op] = binary!(
    "add" add, "sub" sub, "mul" mul, "div" div, "floor_div" floor_div step, "rem" rem, "atan2" atan2, "eq" eq step, "ne" ne step,
    "lt" lt step, "le" le step, "gt" gt step, "ge" ge step, "logical_and" logical_and step, "logical_or" logical_or step,
    "logical_xor" logical_xor step, "and" bitwise_and step, "or" bitwise_or step, "xor" bitwise_xor step, "shl" shl step, "shr" shr step,
);

const OTHERS: &[Op] = &[
    op("log10", "log10", |c| one(c.x(0)?.log10())).full(),
    op("asinh", "asinh", |c| one(c.x(0)?.asinh())).full(),
    op("acosh", "acosh", |c| one(c.x(0)?.acosh())).full(),
    op("atanh", "atanh", |c| one(c.x(0)?.atanh())).full(),
    op("isinf", "isinf", |c| one(c.x(0)?.isinf())).step(),
    op("pow", "pow", |c| two(c, |x, y| x.pow(y), |x, y| x.pow(y), |x, y| x.pow(y))).full(),
    op("elu", "elu", |c| one(c.x(0)?.elu(c.float("alpha")?))),
    op("leaky_relu", "leaky_relu", |c| one(c.x(0)?.leaky_relu(c.float("slope")?))),
    op("maximum", "maximum", |c| one(c.x(0)?.maximum(c.x(1)?))).widest(),
    op("minimum", "minimum", |c| one(c.x(0)?.minimum(c.x(1)?))).widest(),
    op("rsub", "sub", |c| one(c.float("scalar")? - c.x(0)?)),
    op("rdiv", "div", |c| one(c.float("scalar")? / c.x(0)?)),
    op("rpow", "pow", |c| one(Tensor::full((), c.float("scalar")?, c.x(0)?.dtype(), c.device).pow(c.x(0)?))).full(),
    op("where", "where_", |c| one(c.x(0)?.where_(c.x(1)?, c.x(2)?))).widest(),
    op("clamp", "clamp", |c| {
        let x = c.x(0)?;
        one(match (c.attributes.get("min"), c.attributes.get("max")) {
            (Some(super::Attribute::Int(low)), Some(super::Attribute::Int(high))) => x.clamp(*low, *high),
            (Some(_), Some(_)) => x.clamp(c.float("min")?, c.float("max")?),
            (Some(_), None) => x.clamp_min(c.float("min")?),
            (None, _) => x.clamp_max(c.float("max")?),
        })
    }),
    op("lerp", "lerp", |c| {
        one(match c.maybe(2) {
            Some(weight) => c.x(0)?.lerp(c.x(1)?, weight),
            None => c.x(0)?.lerp(c.x(1)?, c.float("scalar")?),
        })
    })
    .widest(),
    op("addcmul", "addcmul", |c| one(c.x(0)?.addcmul(c.x(1)?, c.x(2)?, c.float("value")?))).widest(),
    op("addcdiv", "addcdiv", |c| one(c.x(0)?.addcdiv(c.x(1)?, c.x(2)?, c.float("value")?))).widest(),
    op("isclose", "isclose", |c| one(c.x(0)?.isclose(c.x(1)?, c.float("rtol")?, c.float("atol")?, c.flag("equal_nan")?))).step(),
    op("cast", "cast", |c| one(c.x(0)?.cast(dtype(c, "to")?))),
    op("cast_through", "cast", |c| {
        let x = c.x(0)?;
        one(x.cast(dtype(c, "to")?).cast(x.dtype()))
    })
    .step(),
    op("bitcast", "bitcast", |c| one(c.x(0)?.bitcast(dtype(c, "to")?))).step(),
    op("masked_fill", "masked_fill", |c| {
        one(match c.attributes.get("value") {
            Some(super::Attribute::Int(value)) => c.x(0)?.masked_fill(c.x(1)?, *value),
            _ => c.x(0)?.masked_fill(c.x(1)?, c.float("value")?),
        })
    }),
    op("arange", "arange", |c| one(range(c, DType::I64)?)).step(),
    op("arange_float", "arange", |c| one(range(c, DType::F32)?)).step(),
    op("linspace", "linspace", |c| one(Tensor::linspace(c.float("start")?, c.float("stop")?, c.size("n")?, DType::F32, c.device))).step(),
    op("logspace", "logspace", |c| {
        one(Tensor::logspace(c.float("start")?, c.float("stop")?, c.size("n")?, c.float("base")?, DType::F32, c.device))
    })
    .step(),
    op("eye", "eye", |c| one(Tensor::eye(c.size("n")?, c.size("m")?, DType::F32, c.device))).step(),
    op("full", "full", |c| one(Tensor::full(c.sizes("shape")?, c.float("value")?, DType::F32, c.device))).step(),
];

fn range(c: &Call, dtype: DType) -> Result<Tensor, super::CallError> {
    Ok(Tensor::arange(c.float("start")?, c.float("stop")?, c.float("step")?, dtype, c.device))
}

pub(super) fn dtype(c: &Call, name: &str) -> Result<DType, super::CallError> {
    let choices: Vec<(&str, DType)> = DType::ALL.iter().chain(&DType::STORED).map(|dtype| (dtype.name(), *dtype)).collect();
    c.text(name)?;
    c.choice(name, &choices)
}

pub(super) const OPS: &[&[Op]] = &[FUNCTIONS, UNARY, BINARY, OTHERS];
