//! Indexing, sorting, selection.

use super::{Call, CallError, Op, one, op, pair};
use crate::IndexItem;

/// `1:4:2;::-1` as an index.
fn slices(c: &Call, spec: &str) -> Result<Vec<IndexItem>, CallError> {
    let number = |text: &str| match text {
        "" => Ok(None),
        text => text.parse::<i64>().map(Some).map_err(|_| CallError {
            op: c.op,
            cause: format!("`{text}` in the index `{spec}`"),
            help: "an index is START:STOP:STEP for each axis, with `;` between, each of them a number or nothing".to_owned(),
        }),
    };
    let slice = |text: &str| {
        let mut parts = text.split(':').map(number);
        let mut next = || parts.next().unwrap_or(Ok(None));
        Ok(IndexItem::Range { start: next()?, end: next()?, step: next()?.unwrap_or(1) })
    };
    spec.split(';').map(slice).collect()
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("slice", "i", |c| one(c.x(0)?.i(slices(c, c.text("spec")?)?))),
    op("index", "i", |c| one(c.x(0)?.i(c.rest(1).iter().map(IndexItem::from).collect::<Vec<_>>()))),
    op("gather", "gather", |c| one(c.x(0)?.gather(c.axis()?, c.x(1)?))),
    op("take_along", "take_along", |c| one(c.x(0)?.take_along(c.axis()?, c.x(1)?))),
    op("index_select", "index_select", |c| one(c.x(0)?.index_select(c.axis()?, c.x(1)?))),
    op("take", "take", |c| one(c.x(0)?.take(c.x(1)?))),
    op("scatter", "scatter", |c| one(c.x(0)?.scatter(c.axis()?, c.x(1)?, c.x(2)?))),
    op("scatter_add", "scatter_add", |c| one(c.x(0)?.scatter_add(c.axis()?, c.x(1)?, c.x(2)?))),
    op("index_add", "index_add", |c| one(c.x(0)?.index_add(c.axis()?, c.x(1)?, c.x(2)?))),
    op("index_copy", "index_copy", |c| one(c.x(0)?.index_copy(c.axis()?, c.x(1)?, c.x(2)?))),
    op("embedding", "embedding", |c| one(c.x(0)?.embedding(c.x(1)?))),
    op("one_hot", "one_hot", |c| one(c.x(0)?.one_hot(c.size("n")?))).step(),
    op("masked_select", "masked_select", |c| one(c.x(0)?.masked_select(c.x(1)?))).reading(),
    op("nonzero", "nonzero", |c| one(c.x(0)?.nonzero())).reading().step(),
    op("unique", "unique", |c| one(c.x(0)?.unique())).reading().step(),
    op("sort", "sort", |c| pair(c.x(0)?.sort(c.axis()?, c.flag("descending")?))),
    op("argsort", "argsort", |c| one(c.x(0)?.argsort(c.axis()?, c.flag("descending")?))).step(),
    op("topk", "topk", |c| pair(c.x(0)?.topk(c.size("k")?, c.axis()?, c.flag("largest")?))),
]];
