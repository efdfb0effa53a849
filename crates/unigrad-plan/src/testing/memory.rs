//! The oracle of `memory`: a plan is run on memory whose bytes know only whose they are.
//!
//! In: a capture, before and after memory is assigned. Out: what is read where something else has been written, results and inputs that are
//! not there in the end, and launches that write what they still read.
//! Always: knows nothing of lifetimes or gaps. A launch is checked against the memory as the launches before it have left it, and a result
//! that shares memory with an operand against every point of the kernel's domain: a point may only write what no other point reads.
//! Never: shares a rule with `crate::memory`, or leaves a launch out: a domain that is too large to enumerate is an error.

use crate::capture::Capture;
use crate::ir::{Id, IrOp};
use crate::limit::{Placed, laid_out};
use crate::lower::Launch;
use crate::memory::{BufferPlace, Layout};
use crate::plan::{Options, Unplaced, unplaced};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::{InstOp, Kernel, Level, Library, Region, Words};

/// Most points of a kernel whose result shares memory with an operand.
const MAX_POINTS: usize = 1 << 24;

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Launches of the plan, needless copies included.
    pub launches: usize,
    /// Bytes of the arena.
    pub arena: usize,
    /// Bytes of all that lives there, one beside the other.
    pub apart: usize,
    /// Results that share memory with an operand of their launch.
    pub in_step: usize,
    /// Outputs that take an input's memory.
    pub donated: usize,
    /// Launches that run again.
    pub again: usize,
    /// Chunks of rows, or 0.
    pub chunks: usize,
}

/// Checks the memory of the plan that a capture gets: with the inputs that may be overwritten as they are, with all of them and with none, on
/// devices that stop at an error and on others. Says what the plan as asked for is like.
pub fn check_memory(capture: &Capture, options: Options) -> Result<Checked, String> {
    let with = |donatable: &[bool], errors_at_once: bool| {
        // What may be overwritten decides what can be made again.
        let library = options.library.map(|library| Library { words: Words { gelu_tanh_slope: false, ..library.words }, ..library });
        let options = Options { errors_at_once, library, ..options };
        let Placed { unplaced, layout, again, chunks } = laid_out(unplaced(capture, options)?, donatable, options)?;
        check(&unplaced, &layout, donatable)
            .map(|checked| Checked { again, chunks, ..checked })
            .map_err(|error| format!("{error}; may overwrite {donatable:?}, stops at errors: {errors_at_once}"))
    };
    let n = capture.donatable.len();
    for (donatable, errors_at_once) in [(vec![true; n], false), (vec![true; n], true), (vec![false; n], options.errors_at_once)] {
        with(&donatable, errors_at_once)?;
    }
    with(&capture.donatable, options.errors_at_once)
}

/// A piece of memory that does not overlap any other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Space {
    Input(u32),
    Output(u32),
    Arena,
}

/// Bytes with the nodes whose elements they are: several where a copy was left out.
#[derive(Clone, Debug)]
struct Piece {
    start: usize,
    end: usize,
    of: SmallVec<[Id; 2]>,
}

struct Memory<'a> {
    unplaced: &'a Unplaced,
    layout: &'a Layout,
    /// By space, in order of their offsets.
    contents: FxHashMap<Space, Vec<Piece>>,
}

type Range = (Space, usize, usize);

/// Checks places for launches.
fn check(unplaced: &Unplaced, layout: &Layout, donatable: &[bool]) -> Result<Checked, String> {
    let Unplaced { ir, outputs, replaced, launches, .. } = unplaced;
    let mut memory = Memory { unplaced, layout, contents: FxHashMap::default() };
    let mut checked = Checked { launches: launches.len(), arena: layout.arena, ..Checked::default() };
    checked.apart = layout.place.iter().filter(|(_, place)| matches!(place, BufferPlace::Arena(_))).map(|(id, _)| memory.bytes(*id)).sum();
    checked.donated = layout.donated.iter().flatten().count();
    memory.check_donors(donatable, replaced)?;
    for (id, node) in ir.nodes.iter().enumerate() {
        if let IrOp::External(input) = node.op {
            let piece = Piece { start: 0, end: memory.bytes(id as Id), of: smallvec![id as Id] };
            memory.contents.insert(Space::Input(input), vec![piece]);
        }
    }
    for (at, launch) in launches.iter().enumerate() {
        let in_step = memory.launch(launch, layout.needless[at]).map_err(|error| format!("launch {}, {}: {error}", at + 1, launch.name))?;
        checked.in_step += in_step;
    }
    for (at, id) in outputs.iter().enumerate() {
        let first = outputs.iter().position(|other| other == id).map(|first| first as u32);
        let place = layout.place.get(id);
        if memory.bytes(*id) > 0 && place != first.map(BufferPlace::Output).as_ref() {
            return Err(ir.impossible(*id, format_args!("output {at} is at {place:?}")));
        }
        memory.is_there(*id, "in the end")?;
    }
    for (id, node) in ir.nodes.iter().enumerate() {
        if let IrOp::External(input) = node.op
            && !layout.donated.contains(&Some(input))
        {
            memory.is_there(id as Id, "in the end")?;
        }
    }
    Ok(checked)
}

impl Memory<'_> {
    fn bytes(&self, id: Id) -> usize {
        let node = self.unplaced.ir.node(id);
        node.shape.iter().product::<usize>() * node.dtype.size()
    }

    fn says(&self, id: Id, what: impl std::fmt::Display) -> String {
        self.unplaced.ir.impossible(id, what)
    }

    /// Only what may be overwritten is lent, once, and where it is assigned over, to that output alone.
    fn check_donors(&self, donatable: &[bool], replaced: &[Option<u32>]) -> Result<(), String> {
        let donors: Vec<(usize, u32)> = self.layout.donated.iter().enumerate().filter_map(|(at, donor)| Some((at, (*donor)?))).collect();
        for (at, input) in &donors {
            let twice = donors.iter().filter(|(_, other)| other == input).count() > 1;
            let others = replaced.iter().enumerate().any(|(other, over)| other != *at && *over == Some(*input));
            if !donatable.get(*input as usize).is_some_and(|may| *may) || twice || others {
                return Err(format!("input {input} is lent to output {at}; twice: {twice}, assigned over by another output: {others}"));
            }
        }
        Ok(())
    }

    /// Where a node is.
    fn range(&self, id: Id) -> Result<Range, String> {
        let bytes = self.bytes(id);
        match self.layout.place.get(&id) {
            Some(BufferPlace::External(input)) => Ok((Space::Input(*input), 0, bytes)),
            Some(BufferPlace::Output(output)) => match self.layout.donated.get(*output as usize) {
                Some(Some(input)) => Ok((Space::Input(*input), 0, bytes)),
                Some(None) => Ok((Space::Output(*output), 0, bytes)),
                None => Err(self.says(id, format_args!("there is no output {output}"))),
            },
            Some(BufferPlace::Arena(offset)) if offset + bytes > self.layout.arena => {
                Err(self.says(id, format_args!("{offset} + {bytes} bytes in an arena of {}", self.layout.arena)))
            }
            Some(BufferPlace::Arena(offset)) if bytes > 0 && offset % 256 != 0 => {
                Err(self.says(id, format_args!("it is at byte {offset}")))
            }
            Some(BufferPlace::Arena(offset)) => Ok((Space::Arena, *offset, offset + bytes)),
            None => Err(self.says(id, "it has no place")),
        }
    }

    /// Whether all bytes of a node are where they should be, and its own.
    fn is_there(&self, id: Id, when: &str) -> Result<(), String> {
        let (space, start, end) = self.range(id)?;
        let mut at = start;
        for piece in self.contents.get(&space).map(Vec::as_slice).into_iter().flatten() {
            if piece.end <= at || at >= end {
                continue;
            }
            if piece.start > at {
                break;
            }
            if !piece.of.contains(&id) {
                let owner = piece.of.first().map(|owner| self.says(*owner, "is there"));
                return Err(self.says(id, format_args!("read {when}, but at byte {at} of {space:?}: {owner:?}")));
            }
            at = piece.end;
        }
        if at < end { Err(self.says(id, format_args!("read {when}, but nothing is at byte {at} of {space:?}"))) } else { Ok(()) }
    }

    /// From now on these bytes are those nodes'.
    fn put(&mut self, (space, start, end): Range, of: SmallVec<[Id; 2]>) {
        if start == end {
            return;
        }
        let pieces = self.contents.entry(space).or_default();
        let mut kept: Vec<Piece> = Vec::with_capacity(pieces.len() + 2);
        for piece in pieces.drain(..) {
            let before = Piece { end: piece.end.min(start), ..piece.clone() };
            let after = Piece { start: piece.start.max(end), ..piece };
            kept.extend([before, after].into_iter().filter(|piece| piece.start < piece.end));
        }
        kept.push(Piece { start, end, of });
        kept.sort_by_key(|piece| piece.start);
        *pieces = kept;
    }

    /// A launch that is left out, as what it would copy lies there: each element that it would read is the one that it would write.
    fn parts(&mut self, launch: &Launch) -> Result<usize, String> {
        let Kernel::Region(region) = &launch.kernel else { return Err("it is left out, and is no map".into()) };
        for (at, inst) in region.insts.iter().enumerate() {
            if matches!(inst.op, InstOp::Load { mask: None, .. }) {
                continue;
            }
            let InstOp::Store { arg: to, value, .. } = &inst.op else { return Err(format!("it is left out, and does {:?}", inst.op)) };
            let InstOp::Load { arg: from, .. } = &region.insts[value.index()].op else { return Err("it is left out, and computes".into()) };
            let (from_arg, to_arg) = (&region.args[*from as usize], &region.args[*to as usize]);
            let points = region.rows();
            if region.n_parallel != region.axes.len() || points > MAX_POINTS || from_arg.dtype != to_arg.dtype {
                return Err("it is left out, and no copy that can be looked at".into());
            }
            let (from, to) = (launch.args[*from as usize], launch.args[*to as usize]);
            let (source, target) = (self.range(from)?, self.range(to)?);
            let size = from_arg.dtype.size();
            let mut at_point: Vec<usize> = Vec::with_capacity(points);
            elements(region, value.index(), at, points, |element, _| {
                at_point.push(source.1 + element * size);
                Ok(())
            })?;
            let mut next = at_point.iter();
            elements(region, at, at, points, |element, _| match next.next() {
                Some(byte) if source.0 == target.0 && *byte == target.1 + element * size => Ok(()),
                other => Err(format!("it is left out, and element {element} of %{to} is not at {other:?}")),
            })?;
            self.is_there(from, "by a copy that is left out")?;
            // What lies in the part itself stays there too.
            for piece in self.contents.get_mut(&source.0).into_iter().flatten() {
                if piece.start >= source.1 && piece.end <= source.2 && !piece.of.contains(&to) {
                    piece.of.push(to);
                }
            }
        }
        Ok(0)
    }

    /// How many results share memory with an operand.
    fn launch(&mut self, launch: &Launch, is_needless: bool) -> Result<usize, String> {
        if is_needless {
            if !launch.is_copy {
                return self.parts(launch);
            }
            let [from, to] = launch.args[..] else { return Err("it is left out, and is no copy".into()) };
            if self.range(from)? != self.range(to)? {
                return Err(format!("it is left out; from {:?} to {:?}", self.range(from)?, self.range(to)?));
            }
            self.is_there(from, "by a copy that is left out")?;
            self.put(self.range(to)?, smallvec![to, from]);
            return Ok(0);
        }
        let args = launch.kernel.args();
        if args.len() != launch.args.len() {
            return Err(format!("{} arguments for {}", launch.args.len(), args.len()));
        }
        let ids = || launch.args.iter().copied().zip(&args).enumerate();
        for (_, (id, arg)) in ids() {
            if arg.len * arg.dtype.size() != self.bytes(id) {
                return Err(self.says(id, format_args!("the kernel has it as {} of {}", arg.len, arg.dtype)));
            }
            if !arg.write {
                self.is_there(id, "by the launch")?;
            }
        }
        let meet = |a: Range, b: Range| a.0 == b.0 && a.1 < b.2 && b.1 < a.2;
        let mut in_step = 0;
        for (write, (id, _)) in ids().filter(|(_, (_, arg))| arg.write) {
            let range = self.range(id)?;
            for (other, (other_id, arg)) in ids().filter(|(other, _)| *other != write) {
                let other_range = self.range(other_id)?;
                if !meet(range, other_range) {
                    continue;
                }
                if arg.write {
                    return Err(self.says(id, format_args!("written over another result, %{other_id}")));
                }
                if range != other_range {
                    return Err(self.says(id, format_args!("written over a part of %{other_id}, which is read")));
                }
                points_apart(&launch.kernel, other, write)
                    .map_err(|error| self.says(id, format_args!("written over %{other_id}: {error}")))?;
                in_step += 1;
            }
        }
        let written: Vec<Id> = ids().filter(|(_, (_, arg))| arg.write).map(|(_, (id, _))| id).collect();
        for id in written {
            self.put(self.range(id)?, smallvec![id]);
        }
        Ok(in_step)
    }
}

/// An error unless each point of the kernel's domain reads, of what it shares with the result, only the element that it writes itself, before.
fn points_apart(kernel: &Kernel, read: usize, write: usize) -> Result<(), String> {
    let (region, first) = match kernel {
        Kernel::Region(region) => (region.clone(), 0),
        Kernel::Contract(contract) => match &contract.epilogue {
            Some(region) => ((**region).clone(), 2),
            None => return Err("a product reads its operands all over".into()),
        },
        Kernel::Joined(joined) => {
            let Some((part, first)) = joined.part_of(write) else { return Err("no part writes it".into()) };
            if read < first || read >= first + part.n_args() {
                return Err("another part reads it".into());
            }
            return points_apart(part, read - first, write - first);
        }
        Kernel::Crossed(crossed) => {
            let mut parts = crossed.parts().into_iter().enumerate();
            let writes = |(_, (region, places, _)): &(usize, (&Region, Vec<usize>, usize))| {
                region.args.iter().zip(places).any(|(arg, place)| arg.write && *place == write)
            };
            let Some((part, (region, places, _))) = parts.find(writes) else { return Err("no part writes it".into()) };
            // The rows are done by then; what they write over must be read by nothing after them.
            for (other, (region, places, _)) in crossed.parts().into_iter().enumerate().skip(1).filter(|(other, _)| *other != part) {
                if region.args.iter().zip(&places).any(|(arg, place)| !arg.write && *place == read) {
                    return Err(format!("part {other}, of columns, reads it"));
                }
            }
            let position = |arg: usize| places.iter().position(|place| *place == arg).ok_or("only another part reads it");
            return points_apart(&Kernel::Region(region.clone()), position(read)?, position(write)?);
        }
        Kernel::Summed(summed) => {
            let (n_product, places) = (summed.product.n_args(), summed.places());
            if write < n_product {
                // The sums come after.
                if places.contains(&read) {
                    return Err("the sums read it".into());
                }
                return points_apart(&Kernel::Contract(summed.product.clone()), read, write);
            }
            if read < n_product {
                return Err("the product reads it all over".into());
            }
            let position = |arg: usize| places.iter().position(|place| *place == arg).ok_or("nothing reads it");
            return points_apart(&Kernel::Region(summed.sums.region.clone()), position(read)?, position(write)?);
        }
        Kernel::Grouped(grouped) => {
            let n = grouped.region.args.len();
            let instance = write / n;
            if read / n != instance {
                return Err("another instance reads it".into());
            }
            (grouped.with_len(grouped.lens[instance]), instance * n)
        }
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => return Err("it is read all over".into()),
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => return Err("it is read all over".into()),
    };
    let (Some(read), Some(write)) = (read.checked_sub(first), write.checked_sub(first)) else {
        return Err("an operand of a product is read all over".into());
    };
    let points: usize = region.axes.iter().product();
    if points > MAX_POINTS {
        return Err(format!("{points} points are too many to look at: {region}"));
    }
    let levels = region.levels();
    // How many points an access has: one, one per row, or all. What has as many points of one region happens at the same ones.
    let count = |at: usize| match levels[at] {
        Level::Uniform => 1,
        Level::Row => region.rows(),
        Level::Full => points,
    };
    // Of every element: the point that writes it, of how many.
    let mut owners: Vec<Option<(usize, u32)>> = vec![None; region.args[write].len];
    let mut stored_at = None;
    for (at, inst) in region.insts.iter().enumerate() {
        if let InstOp::Store { arg, .. } = inst.op
            && arg as usize == write
        {
            stored_at.get_or_insert(at);
            elements(&region, at, at, count(at), |element, point| {
                match owners.get_mut(element).map(|owner| owner.replace((count(at), point))) {
                    Some(None) => Ok(()),
                    Some(Some(_)) => Err(format!("element {element} is written twice")),
                    None => Err(format!("element {element} is beyond the buffer")),
                }
            })?;
        }
    }
    let Some(stored_at) = stored_at else { return Err("the result is not written".into()) };
    for (at, inst) in region.insts.iter().enumerate() {
        if at > stored_at && matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)) {
            return Err("the row is walked through again after it was written".into());
        }
        if let InstOp::Load { arg, .. } = inst.op
            && arg as usize == read
        {
            if at > stored_at {
                return Err("it is read after it was written".into());
            }
            elements(&region, at, stored_at, count(at), |element, point| match owners.get(element) {
                Some(None) => Ok(()),
                Some(Some(owner)) if *owner == (count(at), point) => Ok(()),
                Some(Some(owner)) => Err(format!("element {element} is read at {:?} and written at {owner:?}", (count(at), point))),
                None => Err(format!("element {element} is beyond the buffer")),
            })?;
        }
    }
    Ok(())
}

/// Calls `f` with the element that a load or store goes to and the point at which it does, for all `count` of them. Where the data decide on the place
/// of a part, it has to be one number for all points, and the same one as of `store`; then the elements are counted from that place on.
fn elements(
    region: &Region,
    at: usize,
    store: usize,
    count: usize,
    mut f: impl FnMut(usize, u32) -> Result<(), String>,
) -> Result<(), String> {
    let access = |at: usize| region.insts[at].op.access().ok_or("neither a load nor a store");
    let ((_, index), (_, stored)) = (access(at)?, access(store)?);
    let levels = region.levels();
    if index.dynamic != stored.dynamic || index.dynamic.iter().any(|(value, _)| levels[value.index()] != Level::Uniform) {
        return Err("the data decide which element it is".into());
    }
    // A row's points follow each other, so its first axes are the outer ones.
    let axes = if count == region.axes.iter().product() { &region.axes[..] } else { &region.axes[..region.n_parallel] };
    for point in 0..count {
        let (mut rest, mut element) = (point, index.offset);
        for (axis, extent) in axes.iter().enumerate().rev() {
            element += (rest % extent) as i64 * index.strides[axis];
            rest /= extent;
        }
        let element = usize::try_from(element).map_err(|_| format!("element {element} is before the buffer"))?;
        f(element, point as u32)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;
    use std::sync::Arc;
    use unigrad_graph::{BinaryOp, DType, Expr, ReduceOp, UnaryOp};

    fn leaf(shape: &[usize]) -> Expr {
        Expr::buffer(shape.iter().copied().collect(), DType::F32, 0, Arc::new(()))
    }

    /// Softmax of a product, and what is made of it: several values that are alive at once.
    fn graph() -> Expr {
        let (x, w) = (leaf(&[24, 16]), leaf(&[16, 32]));
        let y = x.matmul(&w);
        let sum = y.unary(UnaryOp::Exp).reduce(ReduceOp::Sum, 0b10).expand(&[24, 32]);
        let share = y.binary(BinaryOp::Div, &sum);
        let square = share.matmul(&leaf(&[32, 32]));
        let again = square.matmul(&leaf(&[32, 32])).binary(BinaryOp::Add, &share);
        again.matmul(&leaf(&[32, 8])).binary(BinaryOp::Mul, &square.matmul(&leaf(&[32, 8])))
    }

    fn layout_of(unplaced: &Unplaced, donatable: &[bool]) -> Layout {
        memory::assign(&unplaced.ir, &unplaced.launches, &unplaced.outputs, donatable, &unplaced.replaced, (false, false)).unwrap()
    }

    #[test]
    fn a_plan_is_accepted_and_every_wrong_place_is_found() {
        let capture = Capture::new(&[graph()]).unwrap();
        for fusion in [true, false] {
            let unplaced = unplaced(&capture, Options { fusion, ..Options::default() }).unwrap();
            let donatable = vec![false; capture.donatable.len()];
            let right = layout_of(&unplaced, &donatable);
            let checked = check(&unplaced, &right, &donatable).unwrap();
            assert!(checked.launches > 3 && checked.arena > 0 && checked.arena <= checked.apart + 256 * checked.launches, "{checked:?}");
            // Each intermediate at the place of one that is alive with it: in its launch, one is read and the other written.
            let mut found = 0;
            for launch in &unplaced.launches {
                let args = launch.kernel.args();
                let ids = |write: bool| launch.args.iter().zip(&args).filter(move |(_, arg)| arg.write == write).map(|(id, _)| *id);
                for (read, write) in ids(false).flat_map(|read| ids(true).map(move |write| (read, write))) {
                    let (Some(BufferPlace::Arena(a)), Some(BufferPlace::Arena(b))) = (right.place.get(&read), right.place.get(&write))
                    else {
                        continue;
                    };
                    if a == b || matches!(launch.kernel, Kernel::Region(_)) {
                        continue;
                    }
                    let mut wrong = layout_of(&unplaced, &donatable);
                    wrong.place.insert(write, BufferPlace::Arena(*a));
                    assert!(check(&unplaced, &wrong, &donatable).is_err(), "%{write} over %{read} is accepted");
                    found += 1;
                }
            }
            assert!(found > 0, "nothing was tried");
            // Outside of the arena, without a place, and an input that was not lent.
            let intermediate = *right.place.iter().find(|(_, place)| matches!(place, BufferPlace::Arena(_))).unwrap().0;
            for place in [
                Some(BufferPlace::Arena(right.arena)),
                Some(BufferPlace::Arena(64)),
                Some(BufferPlace::External(0)),
                Some(BufferPlace::Output(7)),
                None,
            ] {
                let mut wrong = layout_of(&unplaced, &donatable);
                wrong.place.remove(&intermediate);
                place.map(|place| wrong.place.insert(intermediate, place));
                assert!(check(&unplaced, &wrong, &donatable).is_err(), "{place:?}");
            }
            let mut wrong = layout_of(&unplaced, &donatable);
            wrong.donated[0] = Some(0);
            assert!(check(&unplaced, &wrong, &donatable).is_err());
            let mut wrong = layout_of(&unplaced, &donatable);
            wrong.needless[0] = true;
            assert!(check(&unplaced, &wrong, &donatable).is_err());
        }
    }

    #[test]
    fn points_that_read_what_others_write_are_found() {
        let region = |load: &str, store: &str, between: &str| -> Kernel {
            let text = format!(
                "region \"x\" parallel [4] reduce [4] {{ a0: f32[16] a1: mut f32[16] %0 = load f32 a0[{load}] {between} store f32 a1[{store}], %0 }}"
            );
            Kernel::Region(text.parse().unwrap())
        };
        let sum = "%1 = sum f32 %0";
        assert_eq!(points_apart(&region("4*i0 + i1", "4*i0 + i1", sum), 0, 1), Ok(()));
        assert_eq!(points_apart(&region("15 - 4*i0 - i1", "15 - 4*i0 - i1", sum), 0, 1), Ok(()));
        for (load, store) in [("4*i1 + i0", "4*i0 + i1"), ("15 - 4*i0 - i1", "4*i0 + i1"), ("4*i0", "4*i0 + i1"), ("i1", "4*i0 + i1")] {
            assert!(points_apart(&region(load, store, sum), 0, 1).is_err(), "{load} {store}");
        }
        let again = "store f32 a1[4*i0 + i1], %0 %2 = sum f32 %0";
        assert!(points_apart(&region("4*i0 + i1", "4*i0 + i1", again), 0, 1).is_err());
        // One element of each row, read at all of its points: a thread may write the row while another still walks through it.
        let row = "region \"x\" parallel [4] reduce [4] { a0: f32[4] a1: mut f32[4] %0 = axis i64 i1 %1 = const i64 2 %2 = lt bool %0, %1
            %3 = load f32 a0[i0] where %2 %4 = sum f32 %3 store f32 a1[i0], %4 }";
        assert!(points_apart(&Kernel::Region(row.parse().unwrap()), 0, 1).is_err());
        assert_eq!(points_apart(&Kernel::Region(row.replace(" where %2", "").parse().unwrap()), 0, 1), Ok(()));
    }
}
