//! Values put in by position, searches, counts, rows of tables.

use super::{Attribute, Call, CallError, Op, Outputs, one, op, pair};
use crate::{BagMode, EmbeddingBagOptions, EmbeddingOptions, IndexItem, Operand, ScatterReduce, Tensor};

const MODES: [(&str, ScatterReduce); 5] = [
    ("sum", ScatterReduce::Sum),
    ("prod", ScatterReduce::Prod),
    ("mean", ScatterReduce::Mean),
    ("amax", ScatterReduce::Max),
    ("amin", ScatterReduce::Min),
];

/// An input, or the number that the attribute holds: an integer where it is written as one.
fn operand(c: &Call, i: usize, name: &str) -> Result<Operand, CallError> {
    Ok(match (c.maybe(i), c.attributes.get(name)) {
        (Some(tensor), _) => tensor.into(),
        (None, Some(Attribute::Int(value))) => (*value).into(),
        (None, _) => c.float(name)?.into(),
    })
}

/// With what is there too, unless the attribute says otherwise.
fn include_self(c: &Call) -> Result<bool, CallError> {
    Ok(!c.has("include_self") || c.flag("include_self")?)
}

fn index_put(c: &Call) -> Outputs {
    let index: Vec<IndexItem> = c.rest(2).iter().map(IndexItem::from).collect();
    one(c.x(0)?.index_put(index, c.x(1)?, c.flag("accumulate")?))
}

fn three((a, b, c): (Tensor, Tensor, Tensor)) -> Outputs {
    Ok(vec![a, b, c])
}

fn rows(c: &Call) -> Result<EmbeddingOptions, CallError> {
    Ok(EmbeddingOptions {
        padding_idx: c.maybe_int("padding_idx")?,
        max_norm: c.maybe_float("max_norm")?,
        norm_type: c.maybe_float("norm_type")?.unwrap_or(2.0),
        scale_grad_by_freq: c.flag("scale_grad_by_freq")?,
    })
}

fn embedding_bag(c: &Call) -> Outputs {
    let (offsets, weights) = (c.flag("offsets")?, c.flag("weights")?);
    let options = EmbeddingBagOptions {
        mode: c.choice("mode", &[("mean", BagMode::Mean), ("sum", BagMode::Sum), ("max", BagMode::Max)])?,
        offsets: if offsets { Some(c.x(2)?.clone()) } else { None },
        include_last_offset: c.flag("include_last_offset")?,
        weights: if weights { Some(c.x(2 + usize::from(offsets))?.clone()) } else { None },
        rows: rows(c)?,
    };
    one(c.x(0)?.embedding_bag(c.x(1)?, &options))
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("index_fill", "index_fill", |c| one(c.x(0)?.index_fill(c.axis()?, c.x(1)?, operand(c, 2, "value")?))),
    op("index_put", "index_put", index_put),
    // A mask is read.
    op("index_put_mask", "index_put", index_put).reading(),
    op("put", "put", |c| one(c.x(0)?.put(c.x(1)?, c.x(2)?, c.flag("accumulate")?))),
    op("masked_scatter", "masked_scatter", |c| one(c.x(0)?.masked_scatter(c.x(1)?, c.x(2)?))),
    op("scatter_value", "scatter_value", |c| one(c.x(0)?.scatter_value(c.axis()?, c.x(1)?, operand(c, 2, "value")?))),
    op("scatter_reduce", "scatter_reduce", |c| {
        one(c.x(0)?.scatter_reduce(c.axis()?, c.x(1)?, c.x(2)?, c.choice("mode", &MODES)?, include_self(c)?))
    }),
    op("index_reduce", "index_reduce", |c| {
        one(c.x(0)?.index_reduce(c.axis()?, c.x(1)?, c.x(2)?, c.choice("mode", &MODES)?, include_self(c)?))
    }),
    op("searchsorted", "searchsorted", |c| one(c.x(0)?.searchsorted(operand(c, 1, "value")?, c.flag("right")?))).step(),
    op("bucketize", "bucketize", |c| one(c.x(0)?.bucketize(c.x(1)?, c.flag("right")?))).step(),
    op("searchsorted_with", "searchsorted_with", |c| one(c.x(0)?.searchsorted_with(c.x(1)?, c.flag("right")?, c.x(2)?))).step(),
    op("isin_with", "isin_with", |c| one(c.x(0)?.isin_with(operand(c, 1, "value")?, c.flag("invert")?))).step(),
    op("isin", "isin", |c| one(c.x(0)?.isin(operand(c, 1, "value")?))).step(),
    op("bincount", "bincount", |c| one(c.x(0)?.bincount(c.maybe(1), c.maybe_size("minlength")?.unwrap_or(0)))).reading(),
    op("histc", "histc", |c| {
        let bound = |name: &str| Ok::<_, CallError>(c.maybe_float(name)?.unwrap_or(0.0));
        one(c.x(0)?.histc(c.size("bins")?, bound("min")?, bound("max")?))
    })
    .step(),
    op("unique_with", "unique_with", |c| three(c.x(0)?.unique_with())).reading().step(),
    op("unique_slices", "unique_slices", |c| three(c.x(0)?.unique_slices(c.axis()?))).reading().step(),
    op("unique_consecutive", "unique_consecutive", |c| three(c.x(0)?.unique_consecutive())).reading().step(),
    op("unique_consecutive_slices", "unique_consecutive_slices", |c| three(c.x(0)?.unique_consecutive_slices(c.axis()?))).reading().step(),
    op("repeat_interleave_by", "repeat_interleave_by", |c| one(c.x(0)?.repeat_interleave_by(c.x(1)?, c.axis()?))).reading(),
    op("embedding_with", "embedding_with", |c| one(c.x(0)?.embedding_with(c.x(1)?, &rows(c)?))),
    op("embedding_bag", "embedding_bag", embedding_bag),
    op("adaptive_max_pool_with_index", "adaptive_max_pool_with_index", |c| pair(c.x(0)?.adaptive_max_pool_with_index(&c.sizes("output")?))),
    op("tril_indices", "tril_indices", |c| one(Tensor::tril_indices(c.size("rows")?, c.size("columns")?, c.int("diagonal")?, c.device)))
        .step(),
    op("triu_indices", "triu_indices", |c| one(Tensor::triu_indices(c.size("rows")?, c.size("columns")?, c.int("diagonal")?, c.device)))
        .step(),
    op("full_int", "full_int", |c| one(Tensor::full_int(c.sizes("shape")?, c.int("value")?, crate::DType::I64, c.device))).step(),
]];
