//! Which values threads agree about.
//!
//! A value is *uniform* if all threads of the workgroup that compute it together get the same, *by subgroup* if the threads of each subgroup
//! do, otherwise *varying*. Thread and lane indices vary, constants, parameters and group indices do not; an instruction varies as its
//! arguments do. Loads from buffers that the program may write vary; from those that it only reads they vary as the index does. So they do
//! from shared arrays: threads that load one element in one place find one value, since no other thread may write it before all of them have
//! passed a barrier. Only where atomics or a dialect's own words touch the array is that not so. A local array
//! is as varying as whatever is ever stored to it, where it is stored, and how the control flow there differs between threads.
//! `thread.x / 32`, `thread.x < 64` and the like are seen to be the same for each subgroup, by the multiples that integers are known to be.

use unigrad_scalar::BinaryOp;

use crate::{
    Target,
    ir::{Block, Op, Param, Place, Program, Stmt, SubgroupOp, Value},
};

/// How far threads agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    /// All of the workgroup do.
    Uniform,
    /// All of each subgroup do.
    BySubgroup,
    /// None need to.
    Varying,
}

/// What is known about a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fact {
    level: Level,
    /// An integer that the value is a multiple of; 0 if the value is 0.
    multiple: u64,
    /// Whether it is, over the threads of a subgroup, a multiple of the subgroup's size plus the lane.
    ramp: bool,
}

const UNKNOWN: Fact = Fact { level: Level::Uniform, multiple: 1, ramp: false };

/// What is known about all values.
pub(super) struct Spreads {
    facts: Vec<Fact>,
    locals: Vec<Level>,
    /// Whether the group is one subgroup, so that what holds for each holds for it.
    one_subgroup: bool,
}

impl Spreads {
    pub(super) fn value(&self, value: Value) -> Level {
        match self.facts.get(value.index()) {
            Some(fact) if self.one_subgroup && fact.level == Level::BySubgroup => Level::Uniform,
            Some(fact) => fact.level,
            None => Level::Varying,
        }
    }
}

struct Analysis<'a> {
    program: &'a Program,
    subgroup: u64,
    /// Shared arrays that atomics or a dialect's own words touch.
    disputed: Vec<u32>,
    spreads: Spreads,
    changed: bool,
}

/// Finds out about all values of a program.
pub(super) fn analyse(program: &Program, target: &Target) -> Spreads {
    let facts = vec![UNKNOWN; program.insts.len()];
    let one_subgroup = target.subgroup == Some(program.threads());
    let spreads = Spreads { facts, locals: vec![Level::Uniform; program.locals.len()], one_subgroup };
    let mut disputed = Vec::new();
    for inst in &program.insts {
        match &inst.op {
            Op::Atomic(_, place, ..) | Op::CompareExchange(place, ..) => disputed.extend(shared(*place)),
            Op::Raw(raw) => disputed.extend(raw.places.iter().copied().filter_map(shared)),
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
            | Op::Subgroup(..)
            | Op::FragmentFill(_)
            | Op::FragmentLoad { .. }
            | Op::FragmentMma(..) => {}
        }
    }
    disputed_by_statements(&program.body, &mut disputed);
    let mut analysis = Analysis { program, subgroup: target.subgroup.unwrap_or(0).into(), disputed, spreads, changed: true };
    // What loops carry is found by repetition; levels only rise, so this ends.
    while analysis.changed {
        analysis.changed = false;
        analysis.block(&program.body, Level::Uniform);
    }
    analysis.spreads
}

fn shared(place: Place) -> Option<u32> {
    if let Place::Shared(at) = place { Some(at) } else { None }
}

fn disputed_by_statements(block: &Block, disputed: &mut Vec<u32>) {
    for stmt in block {
        match stmt {
            Stmt::Raw(raw) => disputed.extend(raw.places.iter().copied().filter_map(shared)),
            Stmt::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|block| disputed_by_statements(block, disputed)),
            Stmt::For { body, .. } => disputed_by_statements(body, disputed),
            Stmt::While { check, body, .. } => [check, body].into_iter().for_each(|block| disputed_by_statements(block, disputed)),
            Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier => {}
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Analysis<'_> {
    fn fact(&self, value: Value) -> Fact {
        self.spreads.facts.get(value.index()).copied().unwrap_or(Fact { level: Level::Varying, ..UNKNOWN })
    }

    fn level(&self, value: Value) -> Level {
        self.fact(value).level
    }

    fn learn(&mut self, value: Value, fact: Fact) {
        if let Some(old) = self.spreads.facts.get_mut(value.index()) {
            let new = Fact { level: fact.level.max(old.level), ..fact };
            self.changed |= *old != new;
            *old = new;
        }
    }

    fn local(&self, at: u32) -> Level {
        self.spreads.locals.get(at as usize).copied().unwrap_or(Level::Varying)
    }

    fn block(&mut self, block: &Block, control: Level) {
        for stmt in block {
            match stmt {
                Stmt::Let(value) => {
                    if let Some(inst) = self.program.insts.get(value.index()) {
                        let fact = self.instruction(&inst.op);
                        self.learn(*value, fact);
                    }
                }
                Stmt::Store { place: Place::Local(at), index, value } => {
                    let level = control.max(self.level(*index)).max(self.level(*value));
                    self.raise(*at, level);
                }
                Stmt::If { condition, then, otherwise } => {
                    let control = control.max(self.level(*condition));
                    self.block(then, control);
                    self.block(otherwise, control);
                }
                Stmt::For { counter, start, end, step, body, .. } => {
                    let level = [start, end, step].into_iter().map(|v| self.level(*v)).fold(Level::Uniform, Level::max);
                    let multiple = gcd(self.fact(*start).multiple, self.fact(*step).multiple);
                    // Steps of whole subgroups from a ramp stay one.
                    let ramp = self.fact(*start).ramp && self.is_aligned(*step);
                    self.learn(*counter, Fact { level, multiple, ramp });
                    self.block(body, control.max(level));
                }
                Stmt::While { check, condition, body } => {
                    let control = control.max(self.level(*condition));
                    self.block(check, control);
                    self.block(body, control.max(self.level(*condition)));
                }
                Stmt::Raw(raw) => {
                    let locals = raw.places.iter().filter_map(|p| if let Place::Local(at) = p { Some(*at) } else { None });
                    locals.for_each(|at| self.raise(at, Level::Varying));
                }
                Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier => {}
            }
        }
    }

    fn raise(&mut self, local: u32, level: Level) {
        if let Some(old) = self.spreads.locals.get_mut(local as usize)
            && *old < level
        {
            *old = level;
            self.changed = true;
        }
    }

    /// The same for each subgroup, and a multiple of its size.
    fn is_aligned(&self, value: Value) -> bool {
        let fact = self.fact(value);
        self.subgroup > 0 && fact.level < Level::Varying && fact.multiple.is_multiple_of(self.subgroup)
    }

    fn most(&self, values: &[Value]) -> Fact {
        let level = values.iter().map(|v| self.level(*v)).fold(Level::Uniform, Level::max);
        Fact { level, ..UNKNOWN }
    }

    fn instruction(&self, op: &Op) -> Fact {
        let varying = Fact { level: Level::Varying, ..UNKNOWN };
        match op {
            Op::Const(literal) if literal.dtype().is_int() => Fact { multiple: literal.as_i64().unsigned_abs(), ..UNKNOWN },
            Op::Const(_) | Op::Scalar(_) | Op::Group(_) | Op::GroupCount(_) => UNKNOWN,
            Op::TableScalar(_, which) => self.most(&[*which]),
            Op::Thread(axis) => self.thread(*axis),
            Op::Lane => Fact { ramp: true, ..varying },
            Op::Counter | Op::Atomic(..) | Op::CompareExchange(..) | Op::Raw(_) => varying,
            Op::Unary(_, a) | Op::ApproxExp2(a) | Op::Bitcast(a) | Op::Extract(a, _) | Op::FragmentFill(a) => self.most(&[*a]),
            Op::Cast(a) => self.fact(*a),
            Op::Binary(op, a, b) => self.binary(*op, *a, *b),
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::FragmentMma(a, b, c) => self.most(&[*a, *b, *c]),
            Op::MulHi(a, b) => self.most(&[*a, *b]),
            Op::Compose(values) => self.most(values),
            Op::Load(place, index) => {
                let memory = match place {
                    Place::Local(at) => self.local(*at),
                    Place::Shared(at) if self.disputed.contains(at) => Level::Varying,
                    Place::Shared(_) => Level::Uniform,
                    Place::Param(at) | Place::Table(at, _) => match self.program.params.get(*at as usize) {
                        Some(Param::Buffer { write: false, .. } | Param::Table { write: false, .. }) => Level::Uniform,
                        _ => Level::Varying,
                    },
                };
                let which = if let Place::Table(_, which) = place { self.level(*which) } else { Level::Uniform };
                Fact { level: memory.max(which).max(self.level(*index)), ..UNKNOWN }
            }
            // Which thread holds what is the target's affair, so every fragment varies; that matters to nothing but its store.
            Op::FragmentLoad { .. } => varying,
            Op::Subgroup(SubgroupOp::Reduce(_) | SubgroupOp::Broadcast(_), a) => {
                Fact { level: Level::BySubgroup.min(self.level(*a)), ..UNKNOWN }
            }
            Op::Subgroup(SubgroupOp::ShuffleXor(_) | SubgroupOp::ShuffleDown(_) | SubgroupOp::ShuffleUp(_), a) => self.most(&[*a]),
        }
    }

    fn thread(&self, axis: u8) -> Fact {
        let [x, y, _] = self.program.block.map(u64::from);
        let extent = self.program.block.get(usize::from(axis)).copied().unwrap_or(1);
        // Threads of a subgroup are consecutive along x, then y: rows of whole subgroups have one y and z.
        let before = [1, x, x * y].get(usize::from(axis)).copied().unwrap_or(1);
        let level = match () {
            () if extent == 1 => Level::Uniform,
            () if self.subgroup > 0 && before.is_multiple_of(self.subgroup) => Level::BySubgroup,
            () => Level::Varying,
        };
        let whole = self.subgroup > 0 && x.is_multiple_of(self.subgroup);
        Fact { level, multiple: if extent == 1 { 0 } else { 1 }, ramp: axis == 0 && whole }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others no more is known than of their arguments")]
    fn binary(&self, op: BinaryOp, a: Value, b: Value) -> Fact {
        let (fa, fb) = (self.fact(a), self.fact(b));
        let mut fact = self.most(&[a, b]);
        // A subgroup-wide answer about a ramp, unless all of the group agree anyway.
        let by_subgroup = Fact { level: Level::BySubgroup, ..UNKNOWN };
        let aligned_ramp = fa.ramp && self.is_aligned(b) && fact.level == Level::Varying;
        match op {
            BinaryOp::Mul => fact.multiple = fa.multiple.saturating_mul(fb.multiple),
            BinaryOp::Add | BinaryOp::Sub => {
                fact.multiple = gcd(fa.multiple, fb.multiple);
                fact.ramp = (fa.ramp && self.is_aligned(b)) || (op == BinaryOp::Add && fb.ramp && self.is_aligned(a));
            }
            BinaryOp::IDiv | BinaryOp::Lt | BinaryOp::Ge if aligned_ramp => fact = by_subgroup,
            BinaryOp::Gt | BinaryOp::Le if fb.ramp && self.is_aligned(a) => fact = by_subgroup,
            BinaryOp::Shr if fa.ramp && fb.level < Level::Varying => {
                let shift = match self.program.insts.get(b.index()).map(|inst| &inst.op) {
                    Some(Op::Const(literal)) => literal.as_i64(),
                    _ => 0,
                };
                if (1..64).contains(&shift) && self.subgroup > 0 && (1u64 << shift).is_multiple_of(self.subgroup) {
                    fact = by_subgroup;
                }
            }
            _ => {}
        }
        fact
    }
}
