//! Indexing, sorting, selection.

use super::{Call, OpEntry, op};
use unigrad_tensor::{IndexItem, ScatterMode, Tensor};

/// `1:4:2;::-1` as an index.
fn slices(spec: &str) -> Vec<IndexItem> {
    let slice = |text: &str| {
        let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
        IndexItem::Range { start: parts.next().flatten(), end: parts.next().flatten(), step: parts.next().flatten().unwrap_or(1) }
    };
    spec.split(';').map(slice).collect()
}

fn pair((values, indices): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![values, indices]
}

pub(super) const OPS: &[&[OpEntry]] = &[&[
    op("slice", |c| vec![c.x[0].i(slices(c.args.text("spec").unwrap_or_default()))]),
    op("index", |c| vec![c.x[0].i(c.x[1..].iter().map(IndexItem::from).collect::<Vec<_>>())]),
    op("gather", |c| vec![c.x[0].gather(c.axis(), &c.x[1])]),
    op("take_along", |c| vec![c.x[0].take_along(c.axis(), &c.x[1])]),
    op("index_select", |c| vec![c.x[0].index_select(c.axis(), &c.x[1])]),
    op("take", |c| vec![c.x[0].take(&c.x[1])]),
    op("scatter", |c| vec![c.x[0].scatter(c.axis(), &c.x[1], &c.x[2])]),
    op("scatter_add", |c| vec![c.x[0].scatter_add(c.axis(), &c.x[1], &c.x[2])]),
    op("scatter_reduce", |c| {
        let mode = match c.args.text("mode") {
            Some("amax") => ScatterMode::Max,
            Some("amin") => ScatterMode::Min,
            Some("prod") => ScatterMode::Mul,
            _ => ScatterMode::Add,
        };
        vec![c.x[0].scatter_with(c.axis(), &c.x[1], &c.x[2], mode)]
    }),
    op("index_add", |c| vec![c.x[0].index_add(c.axis(), &c.x[1], &c.x[2])]),
    op("index_copy", |c| vec![c.x[0].index_copy(c.axis(), &c.x[1], &c.x[2])]),
    op("embedding", |c| vec![c.x[0].embedding(&c.x[1])]),
    op("one_hot", |c| vec![c.x[0].one_hot(c.size("n"))]),
    reading("masked_select", |c| vec![c.x[0].masked_select(&c.x[1])]),
    reading("nonzero", |c| vec![c.x[0].nonzero()]),
    reading("unique", |c| vec![c.x[0].unique()]),
    op("sort", |c| pair(c.x[0].sort(c.axis(), c.args.flag("descending")))),
    op("argsort", |c| vec![c.x[0].argsort(c.axis(), c.args.flag("descending"))]),
    op("topk", |c| pair(c.x[0].topk(c.size("k"), c.axis(), c.args.flag("largest")))),
]];

const fn reading(name: &'static str, run: fn(&Call) -> Vec<Tensor>) -> OpEntry {
    OpEntry { name, run, reads: true }
}
