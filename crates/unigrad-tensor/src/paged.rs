//! Positions that differ from sequence to sequence: lengths, offsets and pages of attention's keys, and caches that are written by page.
//!
//! In: numbers, or tensors with one number for each sequence. Out: the positions that an attention node takes; a cache with new rows.
//! Always: a length, a position or a page number that counts is checked by the evaluation that uses it, as any index is. What a page table
//! says behind a sequence's length does not count.
//! Never: reads values, or makes a copy of the cache in rows.

use crate::{
    AttentionOptions, Tensor,
    arithmetic::Operand,
    index::{as_index, try_index_scatter},
    promotion::value_expr,
};
use unigrad_graph::{BinaryOp, DType, ErrorKind, Expr, Literal, Positions, ScatterMode, ops::attention::PositionInputs};

/// Keys and values in pages.
pub(crate) struct PagedKeys {
    /// Integers `[batch, max_pages]`.
    pub(crate) table: Expr,
    pub(crate) n_pages: usize,
    pub(crate) page_size: usize,
}

/// Whether a position differs from sequence to sequence.
fn differs(value: &Option<Operand>) -> bool {
    matches!(value, Some(Operand::Tensor(tensor)) if tensor.expr().rank() > 0)
}

/// How the options' positions are given, for the sequences of `q` and `k_len` keys at most.
#[track_caller]
pub(crate) fn positions(
    options: &AttentionOptions,
    pages: Option<&PagedKeys>,
    (q, k_len): (&Expr, usize),
) -> Result<(Positions, PositionInputs), Expr> {
    let device = q.device();
    let (kv_len, q_offset) = (&options.kv_len, &options.q_offset);
    if pages.is_none() && !differs(kv_len) && !differs(q_offset) {
        return Ok((Positions::Same, PositionInputs::Same { kv_len: same(kv_len, k_len, device), q_offset: same(q_offset, 0, device) }));
    }
    if k_len >= i32::MAX as usize {
        let message = format!("{k_len} keys with positions for each sequence");
        return Err(Expr::fail(ErrorKind::Shape, "attention", message, "positions are 32-bit integers: use fewer keys", &[]));
    }
    // One number for each sequence, `[batch]`, which may have a name.
    let row = match q.is_named_axis(0) && !q.shape().contains(&0) {
        true => q.narrow(1, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).remove_axes(&[1, 2, 3]),
        false => Expr::constant(Literal::zero(DType::I64), &q.shape()[..1], device),
    };
    if row.error().is_some() {
        return Err(row);
    }
    let lengths = each("kv_len", kv_len, k_len, &row)?;
    let lengths = if kv_len.is_some() { lengths.label(k_len + 1) } else { lengths };
    let farthest = |bound: i64| row.literal_like(Literal::int(DType::I64, bound));
    let offsets = each("q_offset", q_offset, 0, &row)?;
    let offsets = offsets.binary(BinaryOp::Max, &farthest(-i64::from(i32::MAX))).binary(BinaryOp::Min, &farthest(i32::MAX.into()));
    let mut columns = vec![lengths.insert_axis(1), offsets.insert_axis(1)];
    if let Some(PagedKeys { table, n_pages, page_size }) = pages {
        let first = table.iota_like(1, DType::I64).mul(&table.literal_like(Literal::int(DType::I64, *page_size as i64)));
        let counts = first.lt(&lengths.insert_axis(1).expand_like(table));
        columns.push(counts.select(table, &table.zeros_like()).label(*n_pages));
    }
    let columns: Vec<Expr> = columns.iter().map(|column| column.cast(DType::I32)).collect();
    let kind = if pages.is_some() { Positions::Paged } else { Positions::Each };
    Ok((kind, PositionInputs::Each(Expr::concat(&columns, 1))))
}

/// One number for all sequences, `I64` of rank 0.
#[track_caller]
fn same(value: &Option<Operand>, default: usize, device: u32) -> Expr {
    match value {
        Some(Operand::Tensor(tensor)) => tensor.expr().cast(DType::I64).reshape(&[]),
        Some(Operand::Value(value)) => value_expr(*value, DType::I64, &[], device),
        None => Expr::scalar(Literal::int(DType::I64, default as i64), &[], device),
    }
}

/// One number for each sequence, `I64`, as many as `row` has elements.
#[track_caller]
fn each(name: &str, value: &Option<Operand>, default: usize, row: &Expr) -> Result<Expr, Expr> {
    if !differs(value) {
        return Ok(same(value, default, row.device()).expand_like(row));
    }
    let Some(Operand::Tensor(tensor)) = value else { return Ok(same(value, default, row.device()).expand_like(row)) };
    let index = as_index("attention", &tensor.expr())?;
    if index.shape() != row.shape() {
        let message = format!("{name} {:?} for {} sequences", index.shape(), row.numel());
        return Err(Expr::fail(
            ErrorKind::Shape,
            "attention",
            message,
            "give one number, or a vector with one for each sequence",
            &[&index],
        ));
    }
    Ok(index.expand_like(row))
}

/// A page table for so many sequences, as `I64`.
#[track_caller]
pub(crate) fn page_table(op: &str, table: &Tensor, batch: usize) -> Result<Expr, Expr> {
    let table = as_index(op, &table.expr())?;
    if table.rank() != 2 || table.shape()[0] != batch {
        let message = format!("a page table {:?} for {batch} sequences", table.shape());
        return Err(Expr::fail(ErrorKind::Shape, op, message, "it is [sequences, most pages of a sequence]", &[&table]));
    }
    Ok(table)
}

#[track_caller]
fn try_paged_update(pages: &Expr, update: &Expr, table: &Tensor, start: &Tensor) -> Result<Expr, Expr> {
    const OP: &str = "paged_update";
    for x in [pages, update] {
        if x.error().is_some() {
            return Err(x.clone());
        }
    }
    let (s, u) = (pages.shape().clone(), update.shape().clone());
    if s.len() != 4 || u.len() != 4 || s[2..] != u[2..] {
        let message = format!("pages {s:?}, rows {u:?}");
        let help = "pages are [pages, page size, heads, features], rows [sequences, length, heads, features]";
        return Err(Expr::fail(ErrorKind::Shape, OP, message, help, &[pages, update]));
    }
    let (n_pages, page_size, batch, len) = (s[0], s[1], u[0], u[1]);
    let table = page_table(OP, table, batch)?;
    let start = as_index(OP, &start.expr())?;
    if start.rank() > 1 || (start.rank() == 1 && start.shape()[0] != batch) {
        let message = format!("starts {:?} for {batch} sequences", start.shape());
        return Err(Expr::fail(ErrorKind::Shape, OP, message, "give one number, or a vector with one for each sequence", &[&start]));
    }
    let most = table.shape()[1].saturating_mul(page_size);
    let rows = [batch, len];
    let start = if start.rank() == 1 { start.reshape(&[batch, 1]) } else { start.reshape(&[1, 1]) };
    let at = start.expand(&rows).add(&Expr::iota(&rows, 1, DType::I64, start.device())).label(most);
    let size = Expr::constant(Literal::int(DType::I64, page_size.max(1) as i64), &rows, start.device());
    let page = table.gather(1, &at.binary(BinaryOp::IDiv, &size)).label(n_pages);
    let slot = page.mul(&size).add(&at.binary(BinaryOp::Rem, &size)).reshape(&[batch * len]);
    let slots = pages.reshape(&[n_pages * page_size, s[2], s[3]]);
    let update = update.reshape(&[batch * len, s[2], s[3]]);
    Ok(try_index_scatter(&slots, OP, 0, &slot, &update, ScatterMode::Set)?.reshape(&s))
}

impl Tensor {
    /// A cache in pages, `[pages, page size, heads, features]`, with new rows (`update`, `[b, length, heads, features]`): row `i` of sequence `b`
    /// goes to position `start + i` of its keys, which is slot `position % page size` of the page that `page_table` (integers
    /// `[b, most pages]`) has at `[b, position / page size]`.
    ///
    /// `start` is an integer, or a vector with one for each sequence. A position beyond the table or a page that does not exist is an error
    /// when it runs. Of several rows for one slot the last one stays. An assignment (`cache.assign(&cache.paged_update(..))`) writes the rows in place;
    /// what reads the new cache in the same evaluation reads a copy, so evaluate the assignment first.
    #[track_caller]
    pub fn paged_update(&self, update: &Tensor, page_table: &Tensor, start: &Tensor) -> Tensor {
        Tensor::from_result(try_paged_update(&self.expr(), &update.expr(), page_table, start))
    }
}
