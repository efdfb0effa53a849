//! Functions, activations, statistics, arrangements and products that are composed of others.

use super::{Call, CallError, Op, Outputs, call::over, one, op, pair};
use crate::{Interpolation, Operand, Tensor};

/// The second input, or the number that the attribute `scalar` holds.
fn other(c: &Call) -> Result<Operand, CallError> {
    Ok(match (c.maybe(1), c.attributes.get("scalar")) {
        (Some(y), _) => y.into(),
        (None, Some(super::Attribute::Int(scalar))) => (*scalar).into(),
        (None, _) => c.float("scalar")?.into(),
    })
}

macro_rules! binary {
    ($($name:ident $($kind:ident)?),* $(,)?) => {
        &[$(op(stringify!($name), stringify!($name), |c| one(c.x(0)?.$name(other(c)?))).widest()$(.$kind())?),*]
    };
}

const BINARY: &[Op] = binary!(
    fmod, fmax, fmin, hypot full, copysign, heaviside step, xlogy full, xlog1py full, logaddexp full, logaddexp2 full, gcd step, lcm step,
    div_trunc step, nextafter step, float_power full,
);

const UNARY: &[Op] = &[
    op("signbit", "signbit", |c| one(c.x(0)?.signbit())).step(),
    op("logit", "logit", |c| one(c.x(0)?.logit(c.maybe_float("eps")?))).full(),
    op("sinc", "sinc", |c| one(c.x(0)?.sinc())),
    op("nan_to_num", "nan_to_num", |c| one(c.x(0)?.nan_to_num(c.float("nan")?, c.maybe_float("posinf")?, c.maybe_float("neginf")?))),
    op("deg2rad", "deg2rad", |c| one(c.x(0)?.deg2rad())),
    op("rad2deg", "rad2deg", |c| one(c.x(0)?.rad2deg())),
    op("power_of", "rpow", |c| one(c.x(0)?.rpow(c.float("base")?))).full(),
    op("round_decimals", "round_decimals", |c| {
        let decimals = c.int("decimals")?;
        one(c.x(0)?.round_decimals(i32::try_from(decimals).unwrap_or(if decimals < 0 { i32::MIN } else { i32::MAX })))
    }),
    op("celu", "celu", |c| one(c.x(0)?.celu(c.float("alpha")?))),
    op("glu", "glu", |c| one(c.x(0)?.glu(c.axis()?))),
    op("prelu", "prelu", |c| one(c.x(0)?.prelu(c.x(1)?))),
    op("softshrink", "softshrink", |c| one(c.x(0)?.softshrink(c.float("lambda")?))),
    op("hardshrink", "hardshrink", |c| one(c.x(0)?.hardshrink(c.float("lambda")?))),
    op("tanhshrink", "tanhshrink", |c| one(c.x(0)?.tanhshrink())),
    op("threshold", "threshold", |c| one(c.x(0)?.threshold(c.float("threshold")?, c.float("value")?))),
    op("hardtanh_with", "hardtanh_with", |c| one(c.x(0)?.hardtanh_with(c.float("low")?, c.float("high")?))),
    op("softplus_with", "softplus_with", |c| one(c.x(0)?.softplus_with(c.float("beta")?, c.float("threshold")?))).full(),
];

const INTERPOLATIONS: [(&str, Interpolation); 5] = [
    ("linear", Interpolation::Linear),
    ("lower", Interpolation::Lower),
    ("higher", Interpolation::Higher),
    ("nearest", Interpolation::Nearest),
    ("midpoint", Interpolation::Midpoint),
];

const STATISTICS: &[Op] = &[
    op("nansum", "nansum", |c| one(c.x(0)?.nansum(over(c)?))).full(),
    op("nanmean", "nanmean", |c| one(c.x(0)?.nanmean(over(c)?))).full(),
    op("aminmax", "aminmax", |c| pair(c.x(0)?.aminmax(over(c)?))),
    op("var_with", "var_with", |c| one(c.x(0)?.var_with(over(c)?, c.float("correction")?))).full(),
    op("argmax_all", "argmax_all", |c| one(c.x(0)?.argmax_all())).step(),
    op("argmin_all", "argmin_all", |c| one(c.x(0)?.argmin_all())).step(),
    op("kthvalue", "kthvalue", |c| pair(c.x(0)?.kthvalue(c.size("k")?, c.axis()?))),
    op("median", "median", |c| pair(c.x(0)?.median(c.axis()?))),
    op("nanmedian", "nanmedian", |c| pair(c.x(0)?.nanmedian(c.axis()?))),
    op("mode", "mode", |c| pair(c.x(0)?.mode(c.axis()?))),
    op("quantile", "quantile", |c| one(c.x(0)?.quantile(c.float("q")?, c.axis()?, c.choice("interpolation", &INTERPOLATIONS)?))).full(),
    op("nanquantile", "nanquantile", |c| one(c.x(0)?.nanquantile(c.float("q")?, c.axis()?, c.choice("interpolation", &INTERPOLATIONS)?)))
        .full(),
    op("cummax_with_index", "cummax_with_index", |c| pair(c.x(0)?.cummax_with_index(c.axis()?))),
    op("cummin_with_index", "cummin_with_index", |c| pair(c.x(0)?.cummin_with_index(c.axis()?))),
    op("diff", "diff", |c| one(c.x(0)?.diff(c.size("n")?, c.axis()?))),
    op("trapezoid", "trapezoid", |c| one(c.x(0)?.trapezoid(c.float("dx")?, c.axis()?))).full(),
    op("cumulative_trapezoid", "cumulative_trapezoid", |c| one(c.x(0)?.cumulative_trapezoid(c.float("dx")?, c.axis()?))).full(),
    op("cov", "cov", |c| one(c.x(0)?.cov(c.size("correction")?))).full(),
    op("cov_with", "cov_with", |c| one(c.x(0)?.cov_with(c.size("correction")?, Some(c.x(1)?), c.maybe(2)))).full(),
    op("cov_weighted", "cov_with", |c| one(c.x(0)?.cov_with(c.size("correction")?, None, Some(c.x(1)?)))).full(),
    op("corrcoef", "corrcoef", |c| one(c.x(0)?.corrcoef())).full(),
    op("cdist", "cdist", |c| one(c.x(0)?.cdist(c.x(1)?, c.float("p")?))).full(),
];

/// Two axes.
fn axes_pair(c: &Call) -> Result<[isize; 2], CallError> {
    match c.ints("axes")?.as_slice() {
        [a, b] => Ok([*a as isize, *b as isize]),
        other => Err(CallError { op: c.op, cause: format!("{} axes", other.len()), help: "name two".to_owned() }),
    }
}

fn padded(c: &Call) -> Outputs {
    let pads = c.ints("pads")?;
    let pairs: Vec<(i64, i64)> = pads.chunks_exact(2).rev().map(|pair| (pair[0], pair[1])).collect();
    if pads.len() % 2 != 0 {
        return Err(CallError { op: c.op, cause: "an odd number of pads".to_owned(), help: "give two for each axis".to_owned() });
    }
    one(c.x(0)?.pad_or_cut(&pairs, super::views::mode(c)?))
}

const ARRANGEMENTS: &[Op] = &[
    op("hstack", "hstack", |c| one(Tensor::hstack(&c.all()))).widest(),
    op("vstack", "vstack", |c| one(Tensor::vstack(&c.all()))).widest(),
    op("dstack", "dstack", |c| one(Tensor::dstack(&c.all()))).widest(),
    op("column_stack", "column_stack", |c| one(Tensor::column_stack(&c.all()))).widest(),
    op("tensor_split", "tensor_split", |c| Ok(c.x(0)?.tensor_split(c.size("n")?, c.axis()?))),
    op("split_at", "split_at", |c| Ok(c.x(0)?.split_at(c.ints("places")?, c.axis()?))),
    op("rot90", "rot90", |c| one(c.x(0)?.rot90(c.int("k")?, axes_pair(c)?))),
    op("roll_axes", "roll_axes", |c| one(c.x(0)?.roll_axes(&c.ints("shifts")?, c.ints("axes")?))),
    op("movedims", "movedims", |c| one(c.x(0)?.movedims(c.ints("source")?, c.ints("target")?))),
    op("squeeze_axes", "squeeze_axes", |c| one(c.x(0)?.squeeze_axes(over(c)?))),
    op("diag_embed_with", "diag_embed_with", |c| one(c.x(0)?.diag_embed_with(c.int("offset")?, c.axis_of("axis1")?, c.axis_of("axis2")?))),
    op("diagflat", "diagflat", |c| one(c.x(0)?.diagflat(c.int("offset")?))),
    op("block_diag", "block_diag", |c| one(Tensor::block_diag(&c.all()))).widest(),
    op("kron", "kron", |c| one(c.x(0)?.kron(c.x(1)?))).widest(),
    op("meshgrid_xy", "meshgrid_xy", |c| Ok(Tensor::meshgrid_xy(&c.all()))),
    op("pad_or_cut", "pad_or_cut", padded),
    op("expand_with", "expand_with", |c| one(c.x(0)?.expand_with(c.ints("shape")?))),
];

const PRODUCTS: &[Op] = &[
    op("addmm_with", "addmm_with", |c| one(c.x(0)?.addmm_with(c.x(1)?, c.x(2)?, c.float("beta")?, c.float("alpha")?))).half(),
    op("baddbmm", "baddbmm", |c| one(c.x(0)?.baddbmm(c.x(1)?, c.x(2)?, c.float("beta")?, c.float("alpha")?))).half(),
    op("addmv", "addmv", |c| one(c.x(0)?.addmv(c.x(1)?, c.x(2)?, c.float("beta")?, c.float("alpha")?))).half(),
    op("addr", "addr", |c| one(c.x(0)?.addr(c.x(1)?, c.x(2)?, c.float("beta")?, c.float("alpha")?))).half(),
    op("tensordot", "tensordot", |c| one(c.x(0)?.tensordot(c.x(1)?, c.ints("axes")?, c.ints("other_axes")?))).half(),
    op("inner", "inner", |c| one(c.x(0)?.inner(c.x(1)?))).half(),
    op("cross", "cross", |c| one(c.x(0)?.cross(c.x(1)?, c.axis()?))).widest(),
    op("bilinear", "bilinear", |c| one(c.x(0)?.bilinear(c.x(1)?, c.x(2)?, c.maybe(3)))).half(),
    op("multi_dot", "multi_dot", |c| one(Tensor::multi_dot(&c.all()))).half(),
];

pub(super) const OPS: &[&[Op]] = &[BINARY, UNARY, STATISTICS, ARRANGEMENTS, PRODUCTS];
