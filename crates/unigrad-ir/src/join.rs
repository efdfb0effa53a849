//! Programs side by side: one whose first workgroups do what one program does, the next ones what the next does.
//!
//! In: programs with workgroups of one size. Out: a program with the parameters of all, one after the other's, and behind them a number (`U32`) for each:
//! its workgroups. It is launched with the sum of them along the first axis.
//! Always: each workgroup does what it would do if its program was launched alone along the first axis, with its own number and count of workgroups.

use crate::Builder;
use crate::ir::{Array, Block, Inst, Op, Param, Place, Program, Stmt, Type, Value};
use unigrad_scalar::{BinaryOp, DType};

/// See the module. None where programs cannot stand side by side: workgroups of several sizes, a dialect's own words, what a program says about a launch
/// as a whole.
pub fn join(name: &str, programs: &[&Program]) -> Option<Program> {
    let block = programs.first()?.block;
    let fits = |program: &&Program| {
        program.block == block
            && !program.has_raw()
            && program.prefetch.is_none()
            && program.tensor_maps.is_empty()
            && program.at_once.is_none()
            && program.cluster.is_none()
            && !program.is_too_deep()
            && program.mistakes.is_empty()
    };
    if !programs.iter().all(fits) {
        return None;
    }
    let mut joining = Joining { whole: Builder::new(name, block).finish() };
    let firsts: Vec<u32> = programs.iter().map(|program| joining.params(program)).collect();
    let u32 = Type::Scalar(DType::U32);
    let group = joining.made(Op::Group(0), u32);
    // Where the workgroups of a program begin; and of all but the first, whether a workgroup is there or behind.
    let mut first: Option<Value> = None;
    let (mut bodies, mut behind) = (Vec::with_capacity(programs.len()), Vec::with_capacity(programs.len()));
    for (at, (program, first_param)) in programs.iter().zip(firsts).enumerate() {
        let name = joining.unique(&format!("groups{at}"));
        joining.whole.params.push(Param::Scalar { name, dtype: DType::U32 });
        let count = joining.made(Op::Scalar(joining.whole.params.len() as u32 - 1), u32);
        let (mut own, mut next) = (group, count);
        if let Some(first) = first {
            behind.push(joining.made(Op::Binary(BinaryOp::Ge, group, first), Type::Scalar(DType::Bool)));
            own = joining.made(Op::Binary(BinaryOp::Sub, group, first), u32);
            next = joining.made(Op::Binary(BinaryOp::Add, first, count), u32);
        }
        first = Some(next);
        bodies.push(joining.part(program, first_param, own, count));
    }
    let mut choice = chosen(bodies, &behind);
    joining.whole.body.append(&mut choice);
    Some(joining.whole)
}

/// One of several bodies, by halves; `behind` says for each but the first whether it is that one or one after it. Nothing comes after a choice, for PoCL
/// writes what comes after a barrier in a branch once for each way that leads there.
fn chosen(mut bodies: Vec<Block>, behind: &[Value]) -> Block {
    let half = bodies.len() / 2;
    let Some(condition) = half.checked_sub(1).and_then(|at| behind.get(at)) else { return bodies.into_iter().flatten().collect() };
    let then = chosen(bodies.split_off(half), &behind[half..]);
    vec![Stmt::If { condition: *condition, then, otherwise: chosen(bodies, &behind[..half - 1]) }]
}

struct Joining {
    whole: Program,
}

/// Where a program's values, parameters and arrays are in the whole.
struct Moved {
    values: Vec<Value>,
    first_param: u32,
    shared: Vec<u32>,
    first_local: u32,
}

impl Moved {
    fn place(&self, place: &mut Place) {
        match place {
            // What chooses among a table's buffers is a value like others.
            Place::Param(at) | Place::Table(at, _) => *at += self.first_param,
            Place::Shared(at) => *at = self.shared[*at as usize],
            Place::Local(at) => *at += self.first_local,
        }
    }

    fn value(&self, value: &mut Value) {
        *value = self.values[value.index()];
    }

    /// A place with what chooses in it.
    fn whole_place(&self, place: &mut Place) {
        self.place(place);
        if let Place::Table(_, which) = place {
            self.value(which);
        }
    }
}

impl Joining {
    /// A value of the whole's own, made where its body has come to.
    fn made(&mut self, op: Op, ty: Type) -> Value {
        let value = self.inst(Inst { op, ty });
        self.whole.body.push(Stmt::Let(value));
        value
    }

    fn inst(&mut self, inst: Inst) -> Value {
        self.whole.insts.push(inst);
        Value(self.whole.insts.len() as u32 - 1)
    }

    /// A name that nothing in the whole has: this one, or with a number behind it.
    fn unique(&self, name: &str) -> String {
        let arrays = self.whole.shared.iter().chain(&self.whole.locals).map(|array| array.name.as_str());
        let taken: Vec<&str> = self.whole.params.iter().map(Param::name).chain(arrays).chain([self.whole.name.as_str()]).collect();
        let mut unique = name.to_owned();
        let mut number = 2u32;
        while taken.contains(&unique.as_str()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        unique
    }

    /// Adds a program's parameters, and says where they begin.
    fn params(&mut self, program: &Program) -> u32 {
        let first = self.whole.params.len() as u32;
        for param in &program.params {
            let unique = self.unique(param.name());
            let mut param = param.clone();
            let (Param::Buffer { name, .. } | Param::Table { name, .. } | Param::Scalar { name, .. } | Param::ScalarTable { name, .. }) =
                &mut param;
            *name = unique;
            self.whole.params.push(param);
        }
        first
    }

    /// Arrays for a program: those of other ones of the same type, for a workgroup runs one program only, as long as the longest.
    fn shared(&mut self, program: &Program) -> Vec<u32> {
        let mut taken = vec![false; self.whole.shared.len()];
        let mut places = Vec::with_capacity(program.shared.len());
        for array in &program.shared {
            let free = (0..taken.len()).find(|at| !taken[*at] && self.whole.shared[*at].ty == array.ty);
            let at = free.unwrap_or_else(|| {
                let name = self.unique(&array.name);
                self.whole.shared.push(Array { name, ..array.clone() });
                taken.push(false);
                taken.len() - 1
            });
            taken[at] = true;
            self.whole.shared[at].len = self.whole.shared[at].len.max(array.len);
            places.push(at as u32);
        }
        places
    }

    /// What a program does, where it is `own` of `count` workgroups.
    fn part(&mut self, program: &Program, first_param: u32, own: Value, count: Value) -> Block {
        let shared = self.shared(program);
        let first_local = self.whole.locals.len() as u32;
        for array in &program.locals {
            let name = self.unique(&array.name);
            self.whole.locals.push(Array { name, ..array.clone() });
        }
        let mut moved = Moved { values: Vec::with_capacity(program.insts.len()), first_param, shared, first_local };
        let first_value = self.whole.insts.len() as u32;
        let mut n_values = 0;
        for inst in &program.insts {
            moved.values.push(match inst.op {
                Op::Group(0) => own,
                Op::GroupCount(0) => count,
                Op::Const(_)
                | Op::Scalar(_)
                | Op::TableScalar(..)
                | Op::Thread(_)
                | Op::Group(_)
                | Op::GroupCount(_)
                | Op::Lane
                | Op::Counter
                | Op::Unary(..)
                | Op::ApproxExp2(_)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::MulHi(..)
                | Op::Select(..)
                | Op::Cast(_)
                | Op::Bitcast(_)
                | Op::Load(..)
                | Op::Compose(_)
                | Op::Extract(..)
                | Op::Atomic(..)
                | Op::CompareExchange(..)
                | Op::Subgroup(..)
                | Op::FragmentFill(_)
                | Op::FragmentLoad { .. }
                | Op::FragmentMma(..)
                | Op::Raw(_) => {
                    n_values += 1;
                    Value(first_value + n_values - 1)
                }
            });
        }
        for inst in &program.insts {
            let mut inst = inst.clone();
            match &mut inst.op {
                // The whole's own.
                Op::Group(0) | Op::GroupCount(0) => continue,
                Op::Scalar(at) | Op::TableScalar(at, _) => *at += first_param,
                Op::Load(place, _) | Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) | Op::FragmentLoad { place, .. } => {
                    moved.place(place)
                }
                // Its values are all that it names, and are moved below. Of `Raw` there is none: see `join`.
                Op::Const(_)
                | Op::Thread(_)
                | Op::Group(_)
                | Op::GroupCount(_)
                | Op::Lane
                | Op::Counter
                | Op::Unary(..)
                | Op::ApproxExp2(_)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::MulHi(..)
                | Op::Select(..)
                | Op::Cast(_)
                | Op::Bitcast(_)
                | Op::Compose(_)
                | Op::Extract(..)
                | Op::Subgroup(..)
                | Op::FragmentFill(_)
                | Op::FragmentMma(..)
                | Op::Raw(_) => {}
            }
            inst.op.visit_values_mut(&mut |value| moved.value(value));
            self.inst(inst);
        }
        let is_own = |value: Value| matches!(program.insts[value.index()].op, Op::Group(0) | Op::GroupCount(0));
        block(&program.body, &moved, &is_own)
    }
}

/// A block in the whole's words. It stands no deeper than a program may.
fn block(of: &[Stmt], moved: &Moved, is_whole: &dyn Fn(Value) -> bool) -> Block {
    let inner = |of: &[Stmt]| block(of, moved, is_whole);
    let value = |of: Value| moved.values[of.index()];
    let place = |of: Place| {
        let mut place = of;
        moved.whole_place(&mut place);
        place
    };
    let mut result = Block::with_capacity(of.len());
    for stmt in of {
        result.push(match stmt {
            Stmt::Let(made) if is_whole(*made) => continue,
            Stmt::Let(made) => Stmt::Let(value(*made)),
            Stmt::Store { place: to, index, value: what } => Stmt::Store { place: place(*to), index: value(*index), value: value(*what) },
            Stmt::FragmentStore { place: to, index, stride, value: what } => {
                Stmt::FragmentStore { place: place(*to), index: value(*index), stride: value(*stride), value: value(*what) }
            }
            Stmt::Barrier => Stmt::Barrier,
            Stmt::If { condition, then, otherwise } => {
                Stmt::If { condition: value(*condition), then: inner(then), otherwise: inner(otherwise) }
            }
            Stmt::For { counter, start, end, step, unroll, body } => Stmt::For {
                counter: value(*counter),
                start: value(*start),
                end: value(*end),
                step: value(*step),
                unroll: *unroll,
                body: inner(body),
            },
            Stmt::While { check, condition, body } => Stmt::While { check: inner(check), condition: value(*condition), body: inner(body) },
            // None has them: see `join`.
            Stmt::Raw(raw) => Stmt::Raw(raw.clone()),
        });
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::{Argument, Span, run};
    use crate::{Builder, Target, validate};
    use unigrad_scalar::ReduceOp;

    /// Sums of `x` by workgroups of 64, whatever `shared` elements they bring together in, and how often they do: `y[group]`, and behind them the count
    /// of workgroups, as often.
    fn sums(shared: u32, dtype: DType) -> Program {
        let mut b = Builder::new("sums", [64, 1, 1]);
        let (x, y) = (b.buffer("x", dtype), b.buffer_mut("y", dtype));
        let tile = b.shared("tile", dtype, shared);
        let (at, thread, group) = (b.global_index(), b.thread(0), b.group(0));
        let value = b.load(x, at);
        b.store(tile, thread, value);
        b.barrier();
        let (zero, one, end) = (b.u32(0), b.u32(1), b.u32(64));
        let first = b.binary(BinaryOp::Eq, thread, zero);
        b.when(first, |b| {
            let none = b.int(dtype, 0);
            let sum = b.variable("sum", none);
            b.repeat(zero, end, one, |b, at| {
                let (old, value) = (b.get(sum), b.load(tile, at));
                let new = b.combine(ReduceOp::Sum, old, value);
                b.set(sum, new);
            });
            let total = b.get(sum);
            b.store(y, group, total);
            let count = b.group_count(0);
            let wide = b.cast(count, dtype);
            let behind = b.add(group, count);
            b.store(y, behind, wide);
        });
        b.finish()
    }

    /// `y[i] = t[i % 2][i] * n`, of tables.
    fn tables() -> Program {
        let mut b = Builder::new("tables", [64, 1, 1]);
        let y = b.buffer_mut("y", DType::U32);
        let table = b.table("x", DType::U32, 2, false);
        let factors = b.scalar_table("n", DType::U32, 2);
        let at = b.global_index();
        let which = b.rem_const(at, 2);
        let (value, factor) = (b.load(Place::Table(table, which), at), b.table_scalar(factors, which));
        let product = b.mul(value, factor);
        b.store(y, at, product);
        b.finish()
    }

    fn words(n: u32, of: impl Fn(u32) -> u32) -> Vec<u8> {
        (0..n).flat_map(|at| of(at).to_le_bytes()).collect()
    }

    #[test]
    fn each_does_what_it_does_alone() {
        let target = Target::interpreter();
        let programs = [sums(64, DType::U32), tables(), sums(100, DType::U32), sums(64, DType::I32)];
        let grids = [3u32, 2, 1, 5];
        let whole = |at: usize, memory: &[Vec<u8>]| Span { allocation: at, offset: 0, len: memory[at].len() };
        // In and out of each; of the tables, two inputs.
        let fresh = || -> Vec<Vec<u8>> {
            let of = |salt: u32, n: u32| words(n, move |at| at.wrapping_mul(2_654_435_761).rotate_left(salt) >> 8);
            let (none, few) = (words(128, |_| 7), words(10, |_| 7));
            vec![of(1, 192), few.clone(), of(2, 128), of(3, 128), none, of(4, 64), few.clone(), of(5, 320), few]
        };
        let args = |which: usize, memory: &[Vec<u8>]| -> Vec<Argument> {
            let buffer = |at| Argument::Buffer(whole(at, memory));
            match which {
                0 => vec![buffer(0), buffer(1)],
                1 => {
                    vec![buffer(4), Argument::Table(vec![whole(2, memory), whole(3, memory)]), Argument::ScalarTable(vec![3, 5])]
                }
                2 => vec![buffer(5), buffer(6)],
                _ => vec![buffer(7), buffer(8)],
            }
        };
        let mut alone = fresh();
        for (which, program) in programs.iter().enumerate() {
            let args = args(which, &alone);
            run(program, &target, [grids[which], 1, 1], &mut alone, &args).unwrap();
        }
        for order in [vec![0, 1, 2, 3], vec![3, 1, 0, 2], vec![1, 0], vec![2, 3, 1], vec![0]] {
            let some: Vec<&Program> = order.iter().map(|at| &programs[*at]).collect();
            let one = join("all", &some).unwrap();
            validate(&one, &target).unwrap();
            let mut memory = fresh();
            let mut all: Vec<Argument> = order.iter().flat_map(|which| args(*which, &memory)).collect();
            all.extend(order.iter().map(|which| Argument::Scalar(grids[*which].into())));
            let groups = order.iter().map(|which| grids[*which]).sum();
            run(&one, &target, [groups, 1, 1], &mut memory, &all).unwrap();
            for which in order {
                let out = [1, 4, 6, 8][which];
                assert_eq!(memory[out], alone[out], "{which}");
            }
        }
        // One array for both lengths, another one for another type.
        let one = join("all", &[&programs[0], &programs[2], &programs[3]]).unwrap();
        assert_eq!(one.shared.iter().map(|array| (array.ty.dtype(), array.len)).collect::<Vec<_>>(), [(DType::U32, 100), (DType::I32, 64)]);
    }

    #[test]
    fn what_says_something_of_a_whole_launch_stands_alone() {
        let fits = sums(64, DType::U32);
        assert!(join("none", &[]).is_none());
        let mut other = sums(64, DType::U32);
        other.block = [32, 1, 1];
        assert!(join("sizes", &[&fits, &other]).is_none());
        let mut other = sums(64, DType::U32);
        other.at_once = Some(2);
        assert!(join("at once", &[&fits, &other]).is_none());
    }
}
