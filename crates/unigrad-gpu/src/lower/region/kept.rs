//! What stays of a row between walks: in registers of a thread, as values are computed with, or in memory that the workgroup shares, as values are
//! stored. A row is then read from device memory once.
//!
//! In: a region's walks, a target. Out: which values are kept, the arrays for them, accesses to these.
//! Always: a thread reads back what it wrote itself, so that no barrier is needed; what is kept in shared memory is what was loaded, so that all
//! of its bits are there. Never: decides between the two, which the schedule does.

use super::{body::Body, lanes::Lanes, lanes::Shape, passes::Passes, schedule::Keepable};
use smallvec::SmallVec;
use unigrad_ir::{Builder, Op, Place, Target, Value};
use unigrad_kernel::InstOp;
use unigrad_scalar::DType;

/// Values to keep, by the walk that makes them, and what they take.
#[derive(Debug)]
pub(super) struct Choices {
    /// In registers.
    pub(super) values: Vec<Vec<usize>>,
    /// In shared memory.
    pub(super) loads: Vec<Vec<usize>>,
    pub(super) keepable: Keepable,
}

impl Choices {
    pub(super) fn new(body: &Body<'_>, passes: &Passes, target: &Target) -> Choices {
        let region = body.region;
        let values = passes.kept(body, |_| true);
        let words = values.iter().flatten().map(|at| body.held(*at).size().div_ceil(4)).sum();
        let is_load = |at: usize| matches!(region.insts[at].op, InstOp::Load { .. }) && region.insts[at].dtype != DType::Bool;
        let mut keepable = Keepable { words, shared: 0, taken: taken(body, passes, target) };
        let mut chosen = vec![false; region.insts.len()];
        for at in passes.kept(body, is_load).into_iter().flatten() {
            let bytes = target.shared_element_bytes(region.insts[at].dtype);
            if keepable.fits(target, region.row_len(), bytes) {
                keepable.shared += bytes;
                chosen[at] = true;
            }
        }
        Choices { values, loads: passes.kept(body, |at| chosen[at]), keepable }
    }
}

/// Bytes of shared memory that go to reductions at most, and to whole units of all arrays.
fn taken(body: &Body<'_>, passes: &Passes, target: &Target) -> usize {
    const UNIT: usize = 16;
    let parts = passes.scratch_parts(body);
    let in_words = parts.iter().all(|dtype| dtype.size() == 4);
    // One number of each subgroup, or of each thread.
    let numbers = (target.max_threads / target.subgroup.filter(|_| in_words).unwrap_or(1).max(1)) as usize;
    let arrays: usize = parts.iter().map(|dtype| numbers * target.shared_element_bytes(*dtype) + UNIT).sum();
    arrays + UNIT * body.region.args.len()
}

/// Shared memory for a row of a load.
pub(super) fn declare(b: &mut Builder, body: &Body<'_>, at: usize) -> Place {
    b.shared(&format!("row{at}"), body.region.insts[at].dtype, body.region.row_len() as u32)
}

/// Elements of one access to shared memory.
fn piece(target: &Target, dtype: DType, width: usize) -> usize {
    let bytes = if target.vectors { 16 } else { dtype.size() };
    width.min(bytes / dtype.size()).clamp(1, 8)
}

/// What was loaded at the runs of these numbers, held as `to`.
pub(super) fn load(b: &mut Builder, target: &Target, place: Place, dtype: DType, to: DType, runs: &[Value], width: usize) -> Lanes {
    let piece = piece(target, dtype, width);
    let vector = |b: &mut Builder, g: usize, l: usize| {
        let at = element(b, runs[g], width, l);
        b.load_vector(place, at, piece as u8)
    };
    Lanes::by_pieces(b, (Shape { groups: runs.len(), width }, true, true), piece, vector, |b, loaded, _, l| {
        let value = b.extract(loaded, (l % piece) as u8);
        b.cast(value, to)
    })
}

/// Keeps what was loaded at the runs of these numbers.
pub(super) fn store(b: &mut Builder, target: &Target, place: Place, dtype: DType, value: &Lanes, runs: &[Value], width: usize) {
    let piece = piece(target, dtype, width);
    for (g, run) in runs.iter().enumerate() {
        for l in (0..width).step_by(piece) {
            let at = element(b, *run, width, l);
            let lanes: SmallVec<[Value; 8]> = (l..l + piece).map(|l| as_stored(b, value.at(g, l), dtype)).collect();
            let vector = whole(b, &lanes).unwrap_or_else(|| b.compose(&lanes));
            b.store(place, at, vector);
        }
    }
}

/// A held value as it was stored: what was widened to it, if that is there.
fn as_stored(b: &mut Builder, value: Value, dtype: DType) -> Value {
    if let Op::Cast(from) = b.program().insts[value.index()].op
        && b.dtype(from) == dtype
    {
        return from;
    }
    b.cast(value, dtype)
}

/// The vector that these are all lanes of, in order.
fn whole(b: &Builder, lanes: &[Value]) -> Option<Value> {
    let part = |value: Value| if let Op::Extract(vector, lane) = b.program().insts[value.index()].op { Some((vector, lane)) } else { None };
    let (vector, _) = part(*lanes.first()?)?;
    let are_parts = lanes.iter().enumerate().all(|(lane, value)| part(*value) == Some((vector, lane as u8)));
    (are_parts && b.ty(vector).lanes() == lanes.len()).then_some(vector)
}

fn element(b: &mut Builder, run: Value, width: usize, lane: usize) -> Value {
    let run = b.cast(run, DType::U32);
    let first = b.mul_const(run, width as i64);
    b.add_const(first, lane as i64)
}
