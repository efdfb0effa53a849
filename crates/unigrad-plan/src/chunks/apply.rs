//! Writes a segment out by chunks: the members once for each chunk, with slices of what they take, and what the rest of the graph reads of them.
//!
//! In: the graph, a segment, the rows of each chunk. Out: a graph in which the chunks stand where the product was, one after the other, with which node
//! stands for each old one.
//! Always: a chunk's nodes count as recorded with the product, and come in the order of chunks, so that launches do ([`crate::fuse`]). What they take is
//! made before. Sums are added up in the dtype that halves are computed in, and rounded once, after the last chunk; a cast back to that dtype is left out.
//! Never: computes for all rows what only chunks read.

use super::Apart;
use super::rows::{self, Rows, Take};
use super::segment::{Member, Segment};
use crate::ir::{Id, Ir, IrNode, IrOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use unigrad_graph::{BinaryOp, DType, NodeId, Op, SliceAxis};

pub(super) struct Applied {
    pub(super) ir: Ir,
    /// By old node; none of what only chunks compute now.
    pub(super) renamed: Vec<Option<Id>>,
    /// Of the new graph.
    pub(super) apart: Apart,
}

struct Writer<'a> {
    old: &'a Ir,
    segment: &'a Segment,
    out: Ir,
    renamed: Vec<Option<Id>>,
    /// When all of it counts as recorded.
    recorded: NodeId,
    /// The members whose rows a chunk computes.
    by_rows: FxHashSet<(Id, Rows)>,
    /// Nodes that something outside needs, in the order of members: the chunks' rows, or their sum.
    wanted: Vec<(usize, SmallVec<[Id; 16]>)>,
    /// Sums before they are rounded, by old node.
    unrounded: FxHashMap<Id, Id>,
    apart: Apart,
    /// The chunk that is being written.
    chunk: Option<u32>,
}

/// Writes the graph anew. `is_output` is by node; the first chunk has the number `first`.
pub(super) fn apply(
    old: &Ir,
    is_output: &[bool],
    users: &[SmallVec<[Id; 4]>],
    segment: &Segment,
    chunks: &[Range<usize>],
    first: u32,
) -> Result<Applied, String> {
    let own: FxHashSet<Id> = segment.members.iter().filter(|member| member.is_own).map(|member| member.id).collect();
    let by_rows = segment.members.iter().filter_map(|member| Some((member.id, member.rows?))).collect();
    let is_wanted = |member: &Member| {
        let id = member.id as usize;
        member.is_own && (member.rows.is_none() || is_output[id] || users[id].iter().any(|user| !own.contains(user)))
    };
    let wanted = (0..segment.members.len()).filter(|at| is_wanted(&segment.members[*at])).map(|at| (at, SmallVec::new())).collect();
    let recorded = old.node(segment.product).recorded;
    let renamed = vec![None; old.nodes.len()];
    let (out, unrounded, apart) = (Ir::default(), FxHashMap::default(), Apart::default());
    let mut writer = Writer { old, segment, out, renamed, recorded, by_rows, wanted, unrounded, apart, chunk: None };
    let taken = writer.taken();
    let is_needed = needed(old, is_output, &own, &taken);
    let is_early = early(old, segment.product, recorded, &taken);
    for id in 0..old.nodes.len() as Id {
        if id == segment.product {
            for early in id + 1..old.nodes.len() as Id {
                if is_early[early as usize] {
                    writer.copy(early, true)?;
                }
            }
            writer.chunks(chunks, first)?;
        }
        if is_needed[id as usize] && !own.contains(&id) && writer.renamed[id as usize].is_none() {
            writer.copy(id, is_early[id as usize])?;
        }
    }
    Ok(Applied { ir: writer.out, renamed: writer.renamed, apart: writer.apart })
}

/// Which nodes are still needed: the outputs, what chunks take, and what these are made of.
fn needed(old: &Ir, is_output: &[bool], own: &FxHashSet<Id>, taken: &[Id]) -> Vec<bool> {
    let mut is_needed = is_output.to_vec();
    taken.iter().for_each(|id| is_needed[*id as usize] = true);
    for (id, node) in old.nodes.iter().enumerate().rev() {
        if is_needed[id] && !own.contains(&(id as Id)) {
            node.inputs.iter().for_each(|input| is_needed[*input as usize] = true);
        }
    }
    for (id, node) in old.nodes.iter().enumerate() {
        // A kernel with several parts writes them all.
        let is_part = matches!(node.op, IrOp::Op(Op::Part(_))) && node.inputs.first().is_some_and(|whole| is_needed[*whole as usize]);
        is_needed[id] |= is_part;
    }
    is_needed
}

/// What chunks take that was recorded after the product, and what that is made of: it has to be there before the first of them.
fn early(old: &Ir, product: Id, recorded: NodeId, taken: &[Id]) -> Vec<bool> {
    let mut is_early = vec![false; old.nodes.len()];
    let mut stack: Vec<Id> = taken.to_vec();
    while let Some(id) = stack.pop() {
        if (id > product || old.node(id).recorded > recorded) && !std::mem::replace(&mut is_early[id as usize], true) {
            stack.extend(&old.node(id).inputs);
        }
    }
    is_early
}

impl Writer<'_> {
    /// The nodes that chunks read and do not compute.
    fn taken(&self) -> Vec<Id> {
        let mut taken: Vec<Id> = Vec::new();
        for member in &self.segment.members {
            for (input, take) in self.old.node(member.id).inputs.iter().zip(&member.takes) {
                let is_member = matches!(take, Take::Rows(rows) if self.by_rows.contains(&(*input, *rows)));
                taken.extend((!is_member).then_some(*input));
            }
        }
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    fn new_of(&self, id: Id) -> Result<Id, String> {
        self.renamed[id as usize].ok_or_else(|| self.old.impossible(id, "it is computed by chunks, and something wants all of it"))
    }

    /// A node as it was.
    fn copy(&mut self, id: Id, is_early: bool) -> Result<(), String> {
        let node = self.old.node(id);
        let sum = node.inputs.first().and_then(|input| self.unrounded.get(input)).copied();
        if let Some(sum) = sum.filter(|sum| node.op == IrOp::Op(Op::Cast) && self.out.node(*sum).dtype == node.dtype) {
            self.renamed[id as usize] = Some(sum);
            return Ok(());
        }
        let inputs = node.inputs.iter().map(|input| self.new_of(*input)).collect::<Result<_, String>>()?;
        let recorded = if is_early { node.recorded.min(self.recorded) } else { node.recorded };
        self.renamed[id as usize] = Some(self.out.add(IrNode { inputs, recorded, ..node.clone() }));
        Ok(())
    }

    /// Adds a node that is like an old one but for this.
    fn add(&mut self, like: Id, op: IrOp, inputs: SmallVec<[Id; 3]>, shape: unigrad_graph::Shape, dtype: DType) -> Id {
        let origin = self.old.node(like).origin;
        let n_nodes = self.out.nodes.len();
        let id = self.out.add(IrNode { op, inputs, shape, dtype, origin, recorded: self.recorded });
        // What several chunks have in common is of none but the first.
        if let Some(chunk) = self.chunk.filter(|_| self.out.nodes.len() > n_nodes) {
            self.apart.chunk_of.insert(id, chunk);
        }
        id
    }

    /// All chunks, and after them what is read of them.
    fn chunks(&mut self, chunks: &[Range<usize>], first: u32) -> Result<(), String> {
        for (number, chunk) in (first..).zip(chunks) {
            self.chunk = Some(number);
            self.chunk(chunk)?;
        }
        self.chunk = None;
        for (at, parts) in std::mem::take(&mut self.wanted) {
            let member = &self.segment.members[at];
            let whole = match member.rows {
                Some(rows) => self.joined(member.id, rows, parts)?,
                None => self.rounded(member.id, parts)?,
            };
            self.renamed[member.id as usize] = Some(whole);
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: &Range<usize>) -> Result<(), String> {
        let segment = self.segment;
        let mut there: FxHashMap<(Id, Rows), Id> = FxHashMap::default();
        let mut wanted = 0;
        for (at, member) in segment.members.iter().enumerate() {
            let node = self.old.node(member.id);
            let mut inputs: SmallVec<[Id; 3]> = SmallVec::new();
            for (input, take) in node.inputs.iter().zip(&member.takes) {
                inputs.push(match take {
                    Take::Rows(rows) => match there.get(&(*input, *rows)) {
                        Some(id) => *id,
                        None => self.slice(*input, *rows, chunk)?,
                    },
                    Take::Whole => self.new_of(*input)?,
                    Take::Repeated(rows) => {
                        let below = self.new_of(*input)?;
                        let below_node = self.old.node(*input);
                        let shape = rows::without(&below_node.shape, node.shape.len(), *rows);
                        self.add(*input, Op::Reshape.into(), smallvec![below], shape, below_node.dtype)
                    }
                });
            }
            let made = match member.rows {
                Some(rows) => {
                    let (op, shape) = rows::of_rows(self.old, member.id, rows, &member.takes, chunk.len())?;
                    let made = self.add(member.id, op, inputs, shape, node.dtype);
                    there.insert((member.id, rows), made);
                    made
                }
                None => {
                    let before = self.wanted.get(wanted).and_then(|(_, parts)| parts.last()).copied();
                    self.sum(member, inputs, before)?
                }
            };
            if let Some((_, parts)) = self.wanted.get_mut(wanted).filter(|(wanted, _)| *wanted == at) {
                parts.push(made);
                wanted += 1;
            }
        }
        Ok(())
    }

    /// A chunk's rows of a node that is there.
    fn slice(&mut self, id: Id, rows: Rows, chunk: &Range<usize>) -> Result<Id, String> {
        let node = self.old.node(id);
        let whole = self.new_of(id)?;
        let merged = rows.shape(&node.shape, rows.count(&node.shape));
        let mut axes: SmallVec<[SliceAxis; 6]> = merged.iter().map(|len| SliceAxis { start: 0, step: 1, len: *len }).collect();
        axes[rows.axis] = SliceAxis { start: chunk.start, step: 1, len: chunk.len() };
        let whole = self.add(id, Op::Reshape.into(), smallvec![whole], merged, node.dtype);
        let shape = rows.shape(&node.shape, chunk.len());
        Ok(self.add(id, Op::Slice(axes.into_vec().into()).into(), smallvec![whole], shape, node.dtype))
    }

    /// A chunk's sum, with the sums of the chunks before it.
    fn sum(&mut self, member: &Member, mut inputs: SmallVec<[Id; 3]>, before: Option<Id>) -> Result<Id, String> {
        let (op, shape) = rows::of_sum(self.old, member.id, &member.takes)?;
        let dtype = sum_dtype(self.old.node(member.id).dtype);
        let is_product = op == IrOp::Op(Op::MatMul);
        if !is_product {
            // A product's sums are as wide as its result; other sums are as wide as what they add up.
            for input in &mut inputs {
                let shape = self.out.node(*input).shape.clone();
                *input = self.add(member.id, Op::Cast.into(), smallvec![*input], shape, dtype);
            }
        }
        let part = self.add(member.id, op, inputs, shape.clone(), dtype);
        let sum = match before {
            Some(before) => self.add(member.id, Op::Binary(BinaryOp::Add).into(), smallvec![before, part], shape, dtype),
            None => part,
        };
        self.apart.stored.push(sum);
        if is_product {
            self.apart.products.push((part, sum));
        }
        Ok(sum)
    }

    /// All rows of a node, from those of the chunks.
    fn joined(&mut self, id: Id, rows: Rows, parts: SmallVec<[Id; 16]>) -> Result<Id, String> {
        let node = self.old.node(id);
        let merged = rows.shape(&node.shape, rows.count(&node.shape));
        let whole = self.add(id, Op::Concat { axis: rows.axis }.into(), parts.into_iter().collect(), merged, node.dtype);
        self.apart.stored.push(whole);
        Ok(self.add(id, Op::Reshape.into(), smallvec![whole], node.shape.clone(), node.dtype))
    }

    /// The last sum, as the node was.
    fn rounded(&mut self, id: Id, parts: SmallVec<[Id; 16]>) -> Result<Id, String> {
        let node = self.old.node(id);
        let last = parts.last().copied().ok_or_else(|| self.old.impossible(id, "a sum of no chunks"))?;
        let sum = self.add(id, Op::Reshape.into(), smallvec![last], node.shape.clone(), self.out.node(last).dtype);
        self.unrounded.insert(id, sum);
        Ok(self.add(id, Op::Cast.into(), smallvec![sum], node.shape.clone(), node.dtype))
    }
}

/// What sums are added up in.
fn sum_dtype(dtype: DType) -> DType {
    if dtype.is_float() { dtype.compute() } else { dtype }
}
