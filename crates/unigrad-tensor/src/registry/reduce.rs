//! Reductions and scans.

use super::{Call, CallError, Op, Outputs, call::over, one, op, pair};
use crate::Tensor;

fn kept(c: &Call) -> Result<bool, CallError> {
    c.flag("keepdim")
}

macro_rules! reductions {
    ($($name:literal $method:ident $keep:ident $($kind:ident)?),* $(,)?) => {
        &[$(op($name, stringify!($method), |c| one(if kept(c)? { c.x(0)?.$keep(over(c)?) } else { c.x(0)?.$method(over(c)?) }))$(.$kind())?),*]
    };
}

const PLAIN: &[Op] = reductions!(
    "sum" sum sum_keepdim full, "mean" mean mean_keepdim full, "prod" prod prod_keepdim full, "max" max max_keepdim, "min" min min_keepdim,
    "any" any any_keepdim step, "all" all all_keepdim step, "logsumexp" logsumexp logsumexp_keepdim full, "nrm2" nrm2 nrm2_keepdim full,
);

fn arg(c: &Call, method: fn(&Tensor, isize) -> Tensor, keep: fn(&Tensor, isize) -> Tensor) -> Outputs {
    let x = c.x(0)?;
    one(match (c.has("axis"), kept(c)?) {
        (true, true) => keep(x, c.axis()?),
        (true, false) => method(x, c.axis()?),
        (false, _) => method(&x.flatten_all(), 0),
    })
}

const OTHERS: &[Op] = &[
    op("var", "var", |c| {
        let (x, correction) = (c.x(0)?, c.size("correction")?);
        one(if kept(c)? { x.var_keepdim(over(c)?, correction) } else { x.var(over(c)?, correction) })
    })
    .full(),
    op("std", "std", |c| {
        let (x, correction) = (c.x(0)?, c.size("correction")?);
        one(if kept(c)? { x.std_keepdim(over(c)?, correction) } else { x.std(over(c)?, correction) })
    })
    .full(),
    op("norm", "norm", |c| {
        let (x, p) = (c.x(0)?, c.float("p")?);
        one(if kept(c)? { x.norm_keepdim(p, over(c)?) } else { x.norm(p, over(c)?) })
    })
    .full(),
    op("count_nonzero", "count_nonzero", |c| one(c.x(0)?.count_nonzero(over(c)?))).step(),
    op("argmax", "argmax", |c| arg(c, Tensor::argmax, Tensor::argmax_keepdim)).step(),
    op("argmin", "argmin", |c| arg(c, Tensor::argmin, Tensor::argmin_keepdim)).step(),
    op("max_with_index", "max_with_index", |c| pair(c.x(0)?.max_with_index(c.axis()?))),
    op("min_with_index", "min_with_index", |c| pair(c.x(0)?.min_with_index(c.axis()?))),
    op("cumsum", "cumsum", |c| one(c.x(0)?.cumsum(c.axis()?))).full(),
    op("cumprod", "cumprod", |c| one(c.x(0)?.cumprod(c.axis()?))).full(),
    op("logcumsumexp", "logcumsumexp", |c| one(c.x(0)?.logcumsumexp(c.axis()?))).full(),
    op("cummax", "cummax", |c| one(c.x(0)?.cummax(c.axis()?))),
    op("cummin", "cummin", |c| one(c.x(0)?.cummin(c.axis()?))),
];

pub(super) const OPS: &[&[Op]] = &[PLAIN, OTHERS];
