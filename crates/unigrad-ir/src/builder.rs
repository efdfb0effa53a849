//! How a program is written: values by methods, blocks by closures.
//!
//! Always: values come out with their types; constants are shared within a block; `x + 0`, `x * 1` and arithmetic on two integer constants fold,
//! so that templates can be written for the general case.
//! Never: fails. What does not fit together is the validator's to say.

use smallvec::SmallVec;
use unigrad_scalar::{BinaryOp, DType, Formula, Literal, ReduceOp, Term, UnaryOp};

use crate::ir::{Array, AtomicOp, Block, Inst, Op, Param, Place, Prefetch, Program, Raw, Stmt, SubgroupOp, TensorMap, Type, Value};

/// Makes a [`Program`].
///
/// ```
/// use unigrad_ir::Builder;
/// use unigrad_scalar::{BinaryOp::*, DType};
/// // y[i] = x[i] * x[i] + 1
/// let mut b = Builder::new("square_plus_one", [256, 1, 1]);
/// let x = b.buffer("x", DType::F32);
/// let y = b.buffer_mut("y", DType::F32);
/// let n = b.scalar("n", DType::U32);
/// let i = b.global_index();
/// let inside = b.binary(Lt, i, n);
/// b.when(inside, |b| {
///     let v = b.load(x, i);
///     let one = b.float(DType::F32, 1.0);
///     let r = b.fma(v, v, one);
///     b.store(y, i, r);
/// });
/// let program = b.finish();
/// assert_eq!(program.params.len(), 3);
/// ```
#[derive(Debug)]
pub struct Builder {
    program: Program,
    /// Blocks being written, outermost first; each with the constants made in it.
    blocks: Vec<(Block, Constants)>,
}

/// Constants of one block: few, so a list does.
#[derive(Debug, Default)]
struct Constants(Vec<(Literal, Value)>);

impl Constants {
    fn get(&self, literal: Literal) -> Option<Value> {
        self.0.iter().find(|(l, _)| *l == literal).map(|(_, v)| *v)
    }

    fn put(&mut self, literal: Literal, value: Value) {
        self.0.push((literal, value));
    }
}

impl Builder {
    /// A program of this name (an identifier), with so many threads per workgroup.
    pub fn new(name: impl Into<String>, block: [u32; 3]) -> Builder {
        let program = Program {
            name: name.into(),
            params: Vec::new(),
            shared: Vec::new(),
            locals: Vec::new(),
            block,
            insts: Vec::new(),
            body: Vec::new(),
            prefetch: None,
            tensor_maps: Vec::new(),
            at_once: None,
            cluster: None,
            mistakes: Vec::new(),
        };
        Builder { program, blocks: vec![(Vec::new(), Constants::default())] }
    }

    /// Says that the program lacks something, in a state that its maker holds to be impossible: [`crate::validate`] refuses it, in every build.
    ///
    /// ```
    /// use unigrad_ir::{Builder, Target, validate};
    /// let mut b = Builder::new("halve", [32, 1, 1]);
    /// b.mistake("nothing is stored");
    /// let errors = validate(&b.finish(), &Target::interpreter()).unwrap_err();
    /// assert_eq!(errors[0].cause, "nothing is stored");
    /// ```
    pub fn mistake(&mut self, cause: impl Into<String>) {
        self.program.mistakes.push(cause.into());
    }

    /// What a device may ask for before the program begins. Of a place that is no buffer, nothing.
    pub fn prefetch(&mut self, place: Place, [rows, count, width, pitch]: [u32; 4]) {
        if let Place::Param(param) = place {
            self.program.prefetch = Some(Prefetch { param, rows, count, width, pitch });
        }
    }

    /// Has a launch pass a buffer as a tensor map as well ([`crate::Target::tensor_maps`]); `map.param` is the place's, whatever it was. Gives its number.
    pub fn tensor_map(&mut self, place: Place, map: TensorMap) -> u32 {
        let Place::Param(param) = place else {
            self.mistake("a tensor map of what is no buffer");
            return 0;
        };
        self.program.tensor_maps.push(TensorMap { param, ..map });
        self.program.tensor_maps.len() as u32 - 1
    }

    /// How many workgroups a compute unit should have room for at once.
    pub fn at_once(&mut self, workgroups: u32) {
        self.program.at_once = Some(workgroups);
    }

    /// Has so many neighbouring workgroups be there at the same time; see [`Program::cluster`].
    pub fn cluster(&mut self, workgroups: u32) {
        self.program.cluster = Some(workgroups);
    }

    /// The program.
    pub fn finish(mut self) -> Program {
        self.program.body = self.blocks.drain(..).flat_map(|(block, _)| block).collect();
        self.program
    }

    /// What is there so far: types of values, parameters. Its body is empty until the end.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.program.ty(value)
    }

    /// The scalar type of a value.
    pub fn dtype(&self, value: Value) -> DType {
        self.ty(value).dtype()
    }

    // --- parameters and arrays

    /// The name, with a number behind it if a parameter or array has it already.
    fn unique(&self, name: &str) -> String {
        let arrays = self.program.shared.iter().chain(&self.program.locals).map(|array| array.name.as_str());
        let taken: Vec<&str> = self.program.params.iter().map(Param::name).chain(arrays).chain([self.program.name.as_str()]).collect();
        if !taken.contains(&name) {
            return name.to_owned();
        }
        let numbered = (2..).map(|n: u32| format!("{name}_{n}")).find(|name| !taken.contains(&name.as_str()));
        numbered.unwrap_or_else(|| name.to_owned())
    }

    fn param(&mut self, param: Param) -> u32 {
        self.program.params.push(param);
        self.program.params.len() as u32 - 1
    }

    /// A buffer that is only read.
    pub fn buffer(&mut self, name: &str, dtype: DType) -> Place {
        Place::Param(self.param(Param::Buffer { name: self.unique(name), dtype, write: false, atomic: false }))
    }

    /// A buffer that is written (and perhaps read).
    pub fn buffer_mut(&mut self, name: &str, dtype: DType) -> Place {
        Place::Param(self.param(Param::Buffer { name: self.unique(name), dtype, write: true, atomic: false }))
    }

    /// A buffer that atomic operations work on.
    pub fn buffer_atomic(&mut self, name: &str, dtype: DType) -> Place {
        Place::Param(self.param(Param::Buffer { name: self.unique(name), dtype, write: true, atomic: true }))
    }

    /// A table of `count` buffers; [`Place::Table`] is one of them.
    pub fn table(&mut self, name: &str, dtype: DType, count: u32, write: bool) -> u32 {
        self.param(Param::Table { name: self.unique(name), dtype, count, write })
    }

    /// A number that the launch passes.
    pub fn scalar(&mut self, name: &str, dtype: DType) -> Value {
        let param = self.param(Param::Scalar { name: self.unique(name), dtype });
        self.outermost(Op::Scalar(param), Type::Scalar(dtype))
    }

    /// `count` numbers that the launch passes; read with [`Builder::table_scalar`].
    pub fn scalar_table(&mut self, name: &str, dtype: DType, count: u32) -> u32 {
        self.param(Param::ScalarTable { name: self.unique(name), dtype, count })
    }

    /// The number at `which` (`U32`) in a scalar table.
    pub fn table_scalar(&mut self, table: u32, which: Value) -> Value {
        let dtype = match &self.program.params[table as usize] {
            Param::ScalarTable { dtype, .. } | Param::Scalar { dtype, .. } | Param::Buffer { dtype, .. } | Param::Table { dtype, .. } => {
                *dtype
            }
        };
        self.inst(Op::TableScalar(table, which), Type::Scalar(dtype))
    }

    /// An array that the workgroup shares.
    pub fn shared(&mut self, name: &str, dtype: DType, len: u32) -> Place {
        let name = self.unique(name);
        self.program.shared.push(Array { name, ty: Type::Scalar(dtype), len });
        Place::Shared(self.program.shared.len() as u32 - 1)
    }

    /// An array of the thread.
    pub fn local(&mut self, name: &str, ty: Type, len: u32) -> Place {
        let name = self.unique(name);
        self.program.locals.push(Array { name, ty, len });
        Place::Local(self.program.locals.len() as u32 - 1)
    }

    /// A variable of the thread, with its first value.
    pub fn variable(&mut self, name: &str, first: Value) -> Place {
        let place = self.local(name, self.ty(first), 1);
        self.set(place, first);
        place
    }

    /// What a variable holds now.
    pub fn get(&mut self, variable: Place) -> Value {
        let zero = self.u32(0);
        self.load(variable, zero)
    }

    /// Gives a variable a new value.
    pub fn set(&mut self, variable: Place, value: Value) {
        let zero = self.u32(0);
        self.store(variable, zero, value);
    }

    // --- values

    /// Any instruction.
    pub fn inst(&mut self, op: Op, ty: Type) -> Value {
        self.program.insts.push(Inst { op, ty });
        let value = Value(self.program.insts.len() as u32 - 1);
        self.stmt(Stmt::Let(value));
        value
    }

    /// An instruction in front of everything else, where all of the program sees its value.
    fn outermost(&mut self, op: Op, ty: Type) -> Value {
        self.program.insts.push(Inst { op, ty });
        let value = Value(self.program.insts.len() as u32 - 1);
        self.blocks[0].0.push(Stmt::Let(value));
        value
    }

    /// Any statement.
    pub fn stmt(&mut self, stmt: Stmt) {
        if let Some((block, _)) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// A constant.
    pub fn constant(&mut self, literal: Literal) -> Value {
        if let Some(value) = self.blocks.iter().find_map(|(_, constants)| constants.get(literal)) {
            return value;
        }
        let value = self.inst(Op::Const(literal), Type::Scalar(literal.dtype()));
        if let Some((_, constants)) = self.blocks.last_mut() {
            constants.put(literal, value);
        }
        value
    }

    /// A `U32` constant.
    pub fn u32(&mut self, value: u32) -> Value {
        self.constant(Literal::int(DType::U32, value.into()))
    }

    /// An integer constant.
    pub fn int(&mut self, dtype: DType, value: i64) -> Value {
        self.constant(Literal::int(dtype, value))
    }

    /// A float constant.
    pub fn float(&mut self, dtype: DType, value: f64) -> Value {
        self.constant(Literal::float(dtype, value))
    }

    /// The constant that a value is, if it is one.
    pub fn as_constant(&self, value: Value) -> Option<Literal> {
        if let Op::Const(literal) = self.program.insts[value.index()].op { Some(literal) } else { None }
    }

    /// Index of the thread in its workgroup.
    pub fn thread(&mut self, axis: u8) -> Value {
        self.inst(Op::Thread(axis), Type::Scalar(DType::U32))
    }

    /// Index of the workgroup in the grid.
    pub fn group(&mut self, axis: u8) -> Value {
        self.inst(Op::Group(axis), Type::Scalar(DType::U32))
    }

    /// Extent of the grid, in workgroups.
    pub fn group_count(&mut self, axis: u8) -> Value {
        self.inst(Op::GroupCount(axis), Type::Scalar(DType::U32))
    }

    /// Index of the thread in its subgroup.
    pub fn lane(&mut self) -> Value {
        self.inst(Op::Lane, Type::Scalar(DType::U32))
    }

    /// `group.x * block.x + thread.x`.
    pub fn global_index(&mut self) -> Value {
        let (group, thread) = (self.group(0), self.thread(0));
        let size = self.u32(self.program.block[0]);
        let base = self.binary(BinaryOp::Mul, group, size);
        self.binary(BinaryOp::Add, base, thread)
    }

    /// One argument.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let ty = if op.gives_bool() { Type::Scalar(DType::Bool) } else { self.ty(a) };
        self.inst(Op::Unary(op, a), ty)
    }

    /// See [`Op::ApproxExp2`].
    pub fn approx_exp2(&mut self, a: Value) -> Value {
        self.inst(Op::ApproxExp2(a), self.ty(a))
    }

    /// Two arguments of one type. Integer constants fold, as do `x + 0`, `x - 0`, `x * 1`, `x * 0` and `x / 1` of integers.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        if let Some(folded) = self.fold(op, a, b) {
            return folded;
        }
        let ty = if op.is_comparison() { Type::Scalar(DType::Bool) } else { self.ty(a) };
        self.inst(Op::Binary(op, a, b), ty)
    }

    fn fold(&mut self, op: BinaryOp, a: Value, b: Value) -> Option<Value> {
        let dtype = self.dtype(a);
        if !dtype.is_int() {
            return None;
        }
        let (ca, cb) = (self.as_constant(a).map(Literal::as_i64), self.as_constant(b).map(Literal::as_i64));
        if let (Some(ca), Some(cb)) = (ca, cb) {
            let result = op.eval_int(ca, cb, 8 * dtype.size() as u32, dtype.is_signed_int());
            let dtype = if op.is_comparison() { DType::Bool } else { dtype };
            return Some(self.int(dtype, result));
        }
        match (op, ca, cb) {
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) => Some(b),
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0)) | (BinaryOp::Mul | BinaryOp::IDiv, _, Some(1)) => Some(a),
            (BinaryOp::Mul, Some(0), _) | (BinaryOp::Mul, _, Some(0)) | (BinaryOp::Rem, _, Some(1)) => Some(self.int(dtype, 0)),
            _ => None,
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// `a < b`.
    pub fn lt(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::Lt, a, b)
    }

    /// `a && b`, both `Bool`; or bit by bit.
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(BinaryOp::And, a, b)
    }

    /// Integer division by a constant.
    pub fn div_const(&mut self, a: Value, by: i64) -> Value {
        let by = self.int(self.dtype(a), by);
        self.binary(BinaryOp::IDiv, a, by)
    }

    /// Remainder of an integer by a constant.
    pub fn rem_const(&mut self, a: Value, by: i64) -> Value {
        let by = self.int(self.dtype(a), by);
        self.binary(BinaryOp::Rem, a, by)
    }

    /// `a + c` with a constant of `a`'s type.
    pub fn add_const(&mut self, a: Value, c: i64) -> Value {
        let c = self.int(self.dtype(a), c);
        self.add(a, c)
    }

    /// `a * c` with a constant of `a`'s type.
    pub fn mul_const(&mut self, a: Value, c: i64) -> Value {
        let c = self.int(self.dtype(a), c);
        self.mul(a, c)
    }

    /// `a * b + c`.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(a);
        self.inst(Op::Fma(a, b, c), ty)
    }

    /// The upper half of a 32-bit product.
    pub fn mul_hi(&mut self, a: Value, b: Value) -> Value {
        self.inst(Op::MulHi(a, b), Type::Scalar(DType::U32))
    }

    /// `if condition { a } else { b }`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.inst(Op::Select(condition, a, b), ty)
    }

    /// What a formula says of these values, which are scalars of one float dtype.
    pub fn formula(&mut self, formula: &Formula, inputs: &[Value]) -> Value {
        let dtype = self.dtype(inputs[0]);
        let mut values: Vec<Value> = Vec::with_capacity(formula.terms().len());
        for term in formula.terms() {
            let value = match *term {
                Term::Input(i) => inputs[i],
                Term::Constant(value) => self.constant(Literal::float(dtype, value)),
                Term::Unary(op, a) => self.unary(op, values[a]),
                Term::Binary(op, a, b) => self.binary(op, values[a], values[b]),
                Term::Select(condition, yes, no) => self.select(values[condition], values[yes], values[no]),
            };
            values.push(value);
        }
        values[values.len() - 1]
    }

    /// Conversion; nothing if the type is the same, or if a half that was made an `F32` becomes what it was. Constants fold.
    pub fn cast(&mut self, a: Value, dtype: DType) -> Value {
        if self.dtype(a) == dtype {
            return a;
        }
        if let Op::Cast(half) = self.program.insts[a.0 as usize].op
            && self.dtype(a) == DType::F32
            && self.ty(half) == Type::Scalar(dtype)
            && matches!(dtype, DType::F16 | DType::BF16)
        {
            return half;
        }
        match self.as_constant(a) {
            Some(literal) if literal.dtype().is_int() => self.constant(literal.cast(dtype)),
            _ => self.inst(Op::Cast(a), Type::Scalar(dtype)),
        }
    }

    /// The same bits.
    pub fn bitcast(&mut self, a: Value, dtype: DType) -> Value {
        if self.dtype(a) == dtype { a } else { self.inst(Op::Bitcast(a), Type::Scalar(dtype)) }
    }

    // --- memory

    /// The dtype of a place's elements.
    pub fn place_dtype(&self, place: Place) -> DType {
        self.element(place).dtype()
    }

    fn element(&self, place: Place) -> Type {
        // `validate` refuses a place that the program has not.
        self.program.place_type(place).unwrap_or(Type::Scalar(DType::U32))
    }

    /// An element.
    pub fn load(&mut self, place: Place, index: Value) -> Value {
        let ty = self.element(place);
        self.inst(Op::Load(place, index), ty)
    }

    /// `lanes` elements from `index` (a multiple of `lanes`) on: a vector, or for one lane a scalar.
    pub fn load_vector(&mut self, place: Place, index: Value, lanes: u8) -> Value {
        let dtype = self.element(place).dtype();
        let ty = if lanes == 1 { Type::Scalar(dtype) } else { Type::Vector(dtype, lanes) };
        self.inst(Op::Load(place, index), ty)
    }

    /// Writes an element, or a vector from `index` on.
    pub fn store(&mut self, place: Place, index: Value, value: Value) {
        self.stmt(Stmt::Store { place, index, value });
    }

    /// A vector; of one value, the value.
    pub fn compose(&mut self, values: &[Value]) -> Value {
        match values {
            [one] => *one,
            _ => {
                let dtype = values.first().map_or(DType::U32, |v| self.dtype(*v));
                self.inst(Op::Compose(SmallVec::from_slice(values)), Type::Vector(dtype, values.len() as u8))
            }
        }
    }

    /// One number of a vector; of a scalar, the scalar.
    pub fn extract(&mut self, vector: Value, lane: u8) -> Value {
        match self.ty(vector) {
            Type::Vector(dtype, _) => self.inst(Op::Extract(vector, lane), Type::Scalar(dtype)),
            Type::Scalar(_) | Type::Fragment(_) => vector,
        }
    }

    /// Atomic read, modify, write; the old value.
    pub fn atomic(&mut self, op: AtomicOp, place: Place, index: Value, value: Value) -> Value {
        let ty = self.ty(value);
        self.inst(Op::Atomic(op, place, index, value), ty)
    }

    /// Atomic compare and exchange; the old value.
    pub fn compare_exchange(&mut self, place: Place, index: Value, expected: Value, new: Value) -> Value {
        let ty = self.ty(new);
        self.inst(Op::CompareExchange(place, index, expected, new), ty)
    }

    /// What a subgroup does together.
    pub fn subgroup(&mut self, op: SubgroupOp, value: Value) -> Value {
        let ty = self.ty(value);
        self.inst(Op::Subgroup(op, value), ty)
    }

    /// The binary operation of a reduction (`Max` and `Min` of `Bool` are *or* and *and*).
    pub fn combine(&mut self, op: ReduceOp, a: Value, b: Value) -> Value {
        let is_bool = self.dtype(a) == DType::Bool;
        let op = match op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max if is_bool => BinaryOp::Or,
            ReduceOp::Min if is_bool => BinaryOp::And,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
        };
        self.binary(op, a, b)
    }

    // --- control flow

    /// All threads of the workgroup wait for each other.
    pub fn barrier(&mut self) {
        self.stmt(Stmt::Barrier);
    }

    /// Writes a block.
    pub fn block(&mut self, write: impl FnOnce(&mut Builder)) -> Block {
        self.blocks.push((Vec::new(), Constants::default()));
        write(self);
        self.blocks.pop().map(|(block, _)| block).unwrap_or_default()
    }

    /// `if condition { then }`.
    pub fn when(&mut self, condition: Value, then: impl FnOnce(&mut Builder)) {
        let then = self.block(then);
        self.stmt(Stmt::If { condition, then, otherwise: Vec::new() });
    }

    /// `if condition { then } else { otherwise }`.
    pub fn when_else(&mut self, condition: Value, then: impl FnOnce(&mut Builder), otherwise: impl FnOnce(&mut Builder)) {
        let then = self.block(then);
        let otherwise = self.block(otherwise);
        self.stmt(Stmt::If { condition, then, otherwise });
    }

    fn count(&mut self, start: Value, end: Value, step: Value, unroll: bool, body: impl FnOnce(&mut Builder, Value)) {
        let ty = self.ty(start);
        self.program.insts.push(Inst { op: Op::Counter, ty });
        let counter = Value(self.program.insts.len() as u32 - 1);
        let body = self.block(|b| body(b, counter));
        self.stmt(Stmt::For { counter, start, end, step, unroll, body });
    }

    /// `for counter in (start..end).step_by(step)`; all of one integer type.
    pub fn repeat(&mut self, start: Value, end: Value, step: Value, body: impl FnOnce(&mut Builder, Value)) {
        self.count(start, end, step, false, body);
    }

    /// `for counter in 0..n`, `U32`, unrolled by the dialect's compiler where it can.
    pub fn unrolled(&mut self, n: u32, body: impl FnOnce(&mut Builder, Value)) {
        let (start, end, step) = (self.u32(0), self.u32(n), self.u32(1));
        self.count(start, end, step, true, body);
    }

    /// `while { condition } { body }`; `check` makes the condition.
    pub fn repeat_while(&mut self, check: impl FnOnce(&mut Builder) -> Value, body: impl FnOnce(&mut Builder)) {
        let mut condition = Value(0);
        let check = self.block(|b| condition = check(b));
        let body = self.block(body);
        self.stmt(Stmt::While { check, condition, body });
    }

    /// A statement in the dialects' own words.
    pub fn raw(&mut self, raw: Raw) {
        self.stmt(Stmt::Raw(Box::new(raw)));
    }
}
