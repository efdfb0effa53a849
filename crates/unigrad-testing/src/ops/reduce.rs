//! Reductions and scans.

use super::{Call, OpEntry, op};
use unigrad_tensor::{Axes, Tensor};

struct Over(Option<Vec<i64>>);

impl Axes for Over {
    fn axes(self) -> Option<Vec<i64>> {
        self.0
    }
}

fn over(c: &Call) -> Over {
    Over(c.args.ints("axes"))
}

fn kept(c: &Call) -> bool {
    c.args.flag("keepdim")
}

macro_rules! reductions {
    ($($name:literal $method:ident $keep:ident),* $(,)?) => {
        &[$(op($name, |c| vec![if kept(c) { c.x[0].$keep(over(c)) } else { c.x[0].$method(over(c)) }])),*]
    };
}

const PLAIN: &[OpEntry] = reductions!(
    "sum" sum sum_keepdim, "mean" mean mean_keepdim, "prod" prod prod_keepdim, "max" max max_keepdim, "min" min min_keepdim,
    "any" any any_keepdim, "all" all all_keepdim, "logsumexp" logsumexp logsumexp_keepdim,
);

fn arg(c: &Call, method: fn(&Tensor, isize) -> Tensor, keep: fn(&Tensor, isize) -> Tensor) -> Vec<Tensor> {
    vec![match c.args.int("axis") {
        Some(axis) if kept(c) => keep(&c.x[0], axis as isize),
        Some(axis) => method(&c.x[0], axis as isize),
        None => method(&c.x[0].flatten_all(), 0),
    }]
}

fn pair((values, indices): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![values, indices]
}

const OTHERS: &[OpEntry] = &[
    op("var", |c| {
        vec![if kept(c) { c.x[0].var_keepdim(over(c), c.size("correction")) } else { c.x[0].var(over(c), c.size("correction")) }]
    }),
    op("std", |c| {
        vec![if kept(c) { c.x[0].std_keepdim(over(c), c.size("correction")) } else { c.x[0].std(over(c), c.size("correction")) }]
    }),
    op("norm", |c| vec![if kept(c) { c.x[0].norm_keepdim(c.float("p"), over(c)) } else { c.x[0].norm(c.float("p"), over(c)) }]),
    op("count_nonzero", |c| vec![c.x[0].count_nonzero(over(c))]),
    op("argmax", |c| arg(c, Tensor::argmax, Tensor::argmax_keepdim)),
    op("argmin", |c| arg(c, Tensor::argmin, Tensor::argmin_keepdim)),
    op("max_with_index", |c| pair(c.x[0].max_with_index(c.axis()))),
    op("min_with_index", |c| pair(c.x[0].min_with_index(c.axis()))),
    op("cumsum", |c| vec![c.x[0].cumsum(c.axis())]),
    op("cumprod", |c| vec![c.x[0].cumprod(c.axis())]),
    op("cummax", |c| vec![c.x[0].cummax(c.axis())]),
    op("cummin", |c| vec![c.x[0].cummin(c.axis())]),
];

pub(super) const OPS: &[&[OpEntry]] = &[PLAIN, OTHERS];
