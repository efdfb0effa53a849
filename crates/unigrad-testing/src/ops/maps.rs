//! Elementwise ops and creation.

use super::{Call, OpEntry, dtype, op};
use unigrad_tensor::{DType, Tensor};

/// With the second input, or with the number that the option `scalar` holds: an integer where it is written as one.
fn two(
    c: &Call,
    with_tensor: fn(&Tensor, &Tensor) -> Tensor,
    with_float: fn(&Tensor, f64) -> Tensor,
    with_int: fn(&Tensor, i64) -> Tensor,
) -> Vec<Tensor> {
    let result = match (c.x.get(1), c.args.int("scalar"), c.scalar()) {
        (Some(y), _, _) => with_tensor(&c.x[0], y),
        (None, Some(scalar), _) => with_int(&c.x[0], scalar),
        (None, None, scalar) => with_float(&c.x[0], scalar.unwrap_or(f64::NAN)),
    };
    vec![result]
}

macro_rules! unary {
    ($($name:literal $method:ident),* $(,)?) => { &[$(op($name, |c| vec![c.x[0].$method()])),*] };
}

macro_rules! binary {
    ($($name:literal $method:ident),* $(,)?) => {
        &[$(op($name, |c| two(c, |x, y| x.$method(y), |x, y| x.$method(y), |x, y| x.$method(y)))),*]
    };
}

/// The row of a function of one number; what `Not` and `BitNot` are among tensors' methods is below.
macro_rules! function {
    (Truth $name:literal $method:ident) => {
        op("logical_not", |c| vec![c.x[0].logical_not()])
    };
    (Bits $name:literal $method:ident) => {
        op("bitwise_not", |c| vec![c.x[0].bitwise_not()])
    };
    ($class:ident $name:literal $method:ident) => {
        op($name, |c| vec![c.x[0].$method()])
    };
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $method:ident $class:ident $cost:literal $row:tt)*) => {
        /// Functions of one number, from their table.
        const FUNCTIONS: &[OpEntry] = &[$(function!($class $name $method)),*];
    };
}
unigrad_graph::each_unary!(functions);

const UNARY: &[OpEntry] = unary!(
    "log10" log10, "asinh" asinh, "acosh" acosh, "atanh" atanh, "fract" fract, "relu6" relu6, "selu" selu, "mish" mish,
    "hardswish" hardswish, "hardsigmoid" hardsigmoid, "hardtanh" hardtanh, "softsign" softsign, "square" square, "logsigmoid" log_sigmoid,
    "isinf" isinf,
);

const BINARY: &[OpEntry] = binary!(
    "add" add, "sub" sub, "mul" mul, "div" div, "floor_div" floor_div, "rem" rem, "pow" pow, "atan2" atan2, "eq" eq, "ne" ne,
    "lt" lt, "le" le, "gt" gt, "ge" ge, "logical_and" logical_and, "logical_or" logical_or, "logical_xor" logical_xor,
    "and" bitwise_and, "or" bitwise_or, "xor" bitwise_xor, "shl" shl, "shr" shr,
);

const OTHERS: &[OpEntry] = &[
    op("elu", |c| vec![c.x[0].elu(c.float("alpha"))]),
    op("leaky_relu", |c| vec![c.x[0].leaky_relu(c.float("slope"))]),
    op("maximum", |c| vec![c.x[0].maximum(&c.x[1])]),
    op("minimum", |c| vec![c.x[0].minimum(&c.x[1])]),
    op("rsub", |c| vec![c.float("scalar") - &c.x[0]]),
    op("rdiv", |c| vec![c.float("scalar") / &c.x[0]]),
    op("rpow", |c| vec![Tensor::full((), c.float("scalar"), c.x[0].dtype(), c.device).pow(&c.x[0])]),
    op("where", |c| vec![c.x[0].where_(&c.x[1], &c.x[2])]),
    op("clamp", |c| {
        let x = &c.x[0];
        let result = match (c.args.int("min"), c.args.int("max"), c.args.float("min"), c.args.float("max")) {
            (Some(low), Some(high), _, _) => x.clamp(low, high),
            (_, _, Some(low), Some(high)) => x.clamp(low, high),
            (_, _, Some(low), None) => x.clamp_min(low),
            (_, _, None, high) => x.clamp_max(high.unwrap_or(f64::NAN)),
        };
        vec![result]
    }),
    op("lerp", |c| {
        vec![match c.scalar() {
            Some(weight) => c.x[0].lerp(&c.x[1], weight),
            None => c.x[0].lerp(&c.x[1], &c.x[2]),
        }]
    }),
    op("addcmul", |c| vec![c.x[0].addcmul(&c.x[1], &c.x[2], c.float("value"))]),
    op("addcdiv", |c| vec![c.x[0].addcdiv(&c.x[1], &c.x[2], c.float("value"))]),
    op("isclose", |c| vec![c.x[0].isclose(&c.x[1], c.float("rtol"), c.float("atol"), c.args.flag("equal_nan"))]),
    op("cast", |c| vec![c.x[0].cast(dtype(c.args.text("to").unwrap_or_default()))]),
    op("masked_fill", |c| {
        vec![match c.args.int("value") {
            Some(value) => c.x[0].masked_fill(&c.x[1], value),
            None => c.x[0].masked_fill(&c.x[1], c.float("value")),
        }]
    }),
    op("arange", |c| vec![Tensor::arange(c.float("start"), c.float("stop"), c.float("step"), DType::I64, c.device)]),
    op("arange_float", |c| vec![Tensor::arange(c.float("start"), c.float("stop"), c.float("step"), DType::F32, c.device)]),
    op("linspace", |c| vec![Tensor::linspace(c.float("start"), c.float("stop"), c.size("n"), DType::F32, c.device)]),
    op("logspace", |c| vec![Tensor::logspace(c.float("start"), c.float("stop"), c.size("n"), c.float("base"), DType::F32, c.device)]),
    op("eye", |c| vec![Tensor::eye(c.size("n"), c.size("m"), DType::F32, c.device)]),
    op("full", |c| vec![Tensor::full(c.sizes("shape"), c.float("value"), DType::F32, c.device)]),
];

pub(super) const OPS: &[&[OpEntry]] = &[FUNCTIONS, UNARY, BINARY, OTHERS];
