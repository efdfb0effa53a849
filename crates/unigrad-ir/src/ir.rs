//! What a program is.
//!
//! A [`Program`] is what one thread of a grid does. Values are in SSA form: each is made once, by one instruction, and used where it is
//! visible (in its block after its statement, and in blocks nested there). What changes over time lives in memory: buffer parameters,
//! arrays that a workgroup shares, and arrays of one thread (`locals`; one of length 1 is a variable).
//!
//! Control flow is structured: [`Stmt::If`], [`Stmt::For`], [`Stmt::While`]. Nothing is evaluated but by a [`Stmt::Let`], in order.
//!
//! Numbers: `F16` and `BF16` are storage formats. Their values can be loaded, stored, cast, bit-cast, selected and put into fragments;
//! arithmetic happens in `F32` or `F64`. Operations mean what [`UnaryOp`] and [`BinaryOp`] say, narrow integers wrap. An index is `U32`,
//! `I32`, `U64` or `I64`, in elements of the place it indexes; as `U32` it is below 2^31. Vectors exist to move memory: they are loaded, stored, composed and taken apart.

use smallvec::SmallVec;
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

use crate::Dialect;

/// An SSA value: a position in [`Program::insts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub u32);

impl Value {
    /// Its position in [`Program::insts`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The type of a value or of an array's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// One number.
    Scalar(DType),
    /// 2, 4 or 8 numbers next to each other in memory; at most 16 bytes.
    Vector(DType, u8),
    /// A matrix spread over the threads of a subgroup.
    Fragment(Fragment),
}

impl Type {
    /// The scalar type inside.
    pub fn dtype(self) -> DType {
        match self {
            Type::Scalar(dtype) | Type::Vector(dtype, _) => dtype,
            Type::Fragment(f) => f.dtype(),
        }
    }

    /// How many numbers one value of a scalar or vector holds.
    pub fn lanes(self) -> usize {
        match self {
            Type::Scalar(_) => 1,
            Type::Vector(_, lanes) => lanes.into(),
            Type::Fragment(_) => 0,
        }
    }
}

/// Sizes and element types of one matrix multiply-accumulate, `c[m,n] += a[m,k] * b[k,n]`, done by a subgroup together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct FragmentShape {
    pub m: u8,
    pub n: u8,
    pub k: u8,
    /// Element type of `a` and `b`. `F32` means: rounded to TF32 by the operation, where the dialect multiplies so.
    pub input: DType,
    /// Element type of `c`.
    pub sum: DType,
}

/// Which of the three matrices a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum FragmentRole {
    A,
    B,
    C,
}

/// The type of a matrix fragment. Which thread holds which element is the target's affair: load and store them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Fragment {
    pub shape: FragmentShape,
    pub role: FragmentRole,
}

impl Fragment {
    /// Element type.
    pub fn dtype(self) -> DType {
        if self.role == FragmentRole::C { self.shape.sum } else { self.shape.input }
    }

    /// Rows and columns.
    pub fn size(self) -> (usize, usize) {
        let FragmentShape { m, n, k, .. } = self.shape;
        match self.role {
            FragmentRole::A => (m.into(), k.into()),
            FragmentRole::B => (k.into(), n.into()),
            FragmentRole::C => (m.into(), n.into()),
        }
    }
}

/// What a launch passes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Param {
    /// A buffer in device memory.
    Buffer {
        /// For the rendered source.
        name: String,
        /// Element type as stored.
        dtype: DType,
        /// Whether the program stores to it.
        write: bool,
        /// Whether atomic operations touch it (then all accesses of a dialect that needs it are atomic).
        atomic: bool,
    },
    /// `count` buffers of one type, chosen by an index at run time; only where [`Target::tables`](crate::Target::tables).
    Table {
        /// For the rendered source.
        name: String,
        /// Element type as stored.
        dtype: DType,
        /// Buffers in it.
        count: u32,
        /// Whether the program stores to them.
        write: bool,
    },
    /// A number. A launch passes it as one 64-bit word ([`Literal::to_raw`]).
    Scalar {
        /// For the rendered source.
        name: String,
        /// Its type; not a half type.
        dtype: DType,
    },
    /// `count` numbers of one type, read with [`Op::TableScalar`]; only where [`Target::tables`](crate::Target::tables).
    ScalarTable {
        /// For the rendered source.
        name: String,
        /// Their type: 4 or 8 bytes wide.
        dtype: DType,
        /// How many.
        count: u32,
    },
}

impl Param {
    /// Its name.
    pub fn name(&self) -> &str {
        let (Param::Buffer { name, .. } | Param::Table { name, .. } | Param::Scalar { name, .. } | Param::ScalarTable { name, .. }) = self;
        name
    }

    /// The type of its elements, or of the number.
    pub fn dtype(&self) -> DType {
        let (Param::Buffer { dtype, .. } | Param::Table { dtype, .. } | Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. }) =
            self;
        *dtype
    }
}

/// An array that a workgroup shares, or that one thread has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Array {
    /// For the rendered source.
    pub name: String,
    /// Type of an element. Shared arrays hold scalars (a `Bool` takes one byte); locals also vectors and fragments.
    pub ty: Type,
    /// Elements.
    pub len: u32,
}

/// Memory that an index goes into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A [`Param::Buffer`].
    Param(u32),
    /// The buffer of a [`Param::Table`] that the value (`U32`) chooses.
    Table(u32, Value),
    /// An array of [`Program::shared`].
    Shared(u32),
    /// An array of [`Program::locals`].
    Local(u32),
}

/// An instruction that gives a value, and the value's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The type of its value.
    pub ty: Type,
}

/// What threads of a subgroup do together. All threads of the subgroup must take part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SubgroupOp {
    /// Every thread gets the reduction over the subgroup's values, in a fixed order.
    Reduce(ReduceOp),
    /// The value of the thread whose lane is this one's XOR the number.
    ShuffleXor(u32),
    /// The value of the thread so many lanes up (this one's own where there is none).
    ShuffleDown(u32),
    /// The value of the thread so many lanes down (this one's own where there is none).
    ShuffleUp(u32),
    /// The value of this lane.
    Broadcast(u32),
}

/// Read, modify, write as one step; gives the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AtomicOp {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Exchange,
}

/// How one dialect spells something that the IR has no word for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Raw {
    /// Text per dialect. `{v0}`, `{v1}` … are the values in [`Raw::values`], `{p0}`, `{p1}` … pointers to the places in [`Raw::places`]
    /// (a local of length 1: an lvalue), `{{` and `}}` braces. A dialect without text cannot have the program.
    pub texts: Vec<(Dialect, String)>,
    /// Declarations (helper functions) that must stand before the kernel, per dialect; equal texts are written once.
    pub preludes: Vec<(Dialect, String)>,
    /// Values the text uses.
    pub values: Vec<Value>,
    /// Memory the text uses.
    pub places: Vec<Place>,
}

/// What makes a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A constant.
    Const(Literal),
    /// A scalar parameter.
    Scalar(u32),
    /// The element of a [`Param::ScalarTable`] at an index (`U32`).
    TableScalar(u32, Value),
    /// Index of the thread in its workgroup along axis 0, 1 or 2; `U32`.
    Thread(u8),
    /// Index of the workgroup in the grid along axis 0, 1 or 2; `U32`.
    Group(u8),
    /// Extent of the grid along an axis, in workgroups; `U32`.
    GroupCount(u8),
    /// Index of the thread in its subgroup; `U32`. Threads of a subgroup are consecutive in `thread.x + block.x * (thread.y + block.y * thread.z)`.
    Lane,
    /// The counter of the [`Stmt::For`] that names this value.
    Counter,
    /// One argument.
    Unary(UnaryOp, Value),
    /// `2^x` of an `F32`, within a part in 2^21; below 2^-126 it may be 0. NaN and infinities as [`UnaryOp::Exp2`] has them. It is one instruction of NVIDIA's
    /// GPUs, where [`UnaryOp::Exp2`] is four ("ex2" in the specification of PTX); elsewhere it is [`UnaryOp::Exp2`].
    ApproxExp2(Value),
    /// Two arguments of one type; comparisons give `Bool`.
    Binary(BinaryOp, Value, Value),
    /// `0 * 1 + 2`, rounded once where the target can, otherwise twice; floats.
    Fma(Value, Value, Value),
    /// The upper 32 bits of the 64-bit product of two `U32`.
    MulHi(Value, Value),
    /// `if 0 { 1 } else { 2 }`; both are evaluated already.
    Select(Value, Value, Value),
    /// Conversion, with the rules of a region's `Cast`: float to integer truncates and saturates at the integer's range,
    /// NaN gives 0; anything to `Bool` is `!= 0`.
    Cast(Value),
    /// The same bits in another type of the same size.
    Bitcast(Value),
    /// An element, or with a vector type as many as it has lanes, from `index` on; `index` is then a multiple of the lanes.
    Load(Place, Value),
    /// A vector of these.
    Compose(SmallVec<[Value; 4]>),
    /// One number of a vector.
    Extract(Value, u8),
    /// Atomic read, modify, write of `place[index]`; gives the old value. `U32` and `I32`, `Add` also `F32` where [`Target::atomic_f32`](crate::Target::atomic_f32),
    /// all of them also on 64-bit integers where [`Target::atomic_i64`](crate::Target::atomic_i64).
    Atomic(AtomicOp, Place, Value, Value),
    /// `if place[index] == expected { place[index] = new }`, atomically; gives the old value. Fields: place, index, expected, new.
    CompareExchange(Place, Value, Value, Value),
    /// See [`SubgroupOp`]; only where [`Target::subgroup`](crate::Target::subgroup) is known.
    Subgroup(SubgroupOp, Value),
    /// A fragment with every element equal to a scalar.
    FragmentFill(Value),
    /// A fragment from memory: first element, and elements from one row to the next (from one column to the next if `transposed`, the memory
    /// then holds the matrix column by column). The first element and the stride are multiples of 8 elements.
    FragmentLoad {
        /// Where.
        place: Place,
        /// First element.
        index: Value,
        /// A `U32` constant or value, uniform.
        stride: Value,
        /// See above.
        transposed: bool,
    },
    /// `a * b + c`.
    FragmentMma(Value, Value, Value),
    /// An expression in the dialect's own words.
    Raw(Box<Raw>),
}

/// Whether threads may disagree about something.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Uniformity {
    /// All threads of a workgroup have the same.
    Uniform,
    /// Each thread may have its own.
    Varying,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Stmt {
    /// Evaluates an instruction; its value is visible from here on.
    Let(Value),
    /// Writes one element, or the lanes of a vector from `index` on.
    Store {
        /// Where.
        place: Place,
        /// First element.
        index: Value,
        /// What; of the place's type, or a vector of it.
        value: Value,
    },
    /// Writes a fragment to memory; see [`Op::FragmentLoad`].
    FragmentStore {
        /// Where.
        place: Place,
        /// First element.
        index: Value,
        /// Elements from one row to the next; `U32`.
        stride: Value,
        /// The fragment, of role C.
        value: Value,
    },
    /// All threads of the workgroup wait for each other, and see each other's stores to shared and device memory.
    Barrier,
    /// One of two.
    If {
        /// `Bool`.
        condition: Value,
        /// If it is true.
        then: Block,
        /// If it is not.
        otherwise: Block,
    },
    /// `counter` goes from `start` while `< end` in steps of `step`; all are of the counter's type.
    For {
        /// An instruction [`Op::Counter`] of an integer type.
        counter: Value,
        /// First value.
        start: Value,
        /// Where it ends.
        end: Value,
        /// A constant > 0 or a uniform value > 0.
        step: Value,
        /// Whether the compiler shall unroll it, so that arrays of the thread stay in registers; only with constant bounds.
        unroll: bool,
        /// What is repeated.
        body: Block,
    },
    /// Evaluates `check`, then runs `body` and starts over if `condition` is true.
    While {
        /// Makes the condition.
        check: Block,
        /// `Bool`, made in `check`.
        condition: Value,
        /// What is repeated.
        body: Block,
    },
    /// A statement in the dialect's own words.
    Raw(Box<Raw>),
}

/// Steps in order.
pub type Block = Vec<Stmt>;

/// How deep blocks may stand in each other, the program's own counted. Compilers have limits of this kind, too: what walks a program may
/// recurse from block to block.
pub const MAX_NESTING: usize = 64;

/// What every thread of a launch does; see the module's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    /// An identifier: the entry point's name.
    pub name: String,
    /// What a launch passes, in order.
    pub params: Vec<Param>,
    /// Arrays that a workgroup shares; undefined at first.
    pub shared: Vec<Array>,
    /// Arrays of one thread; undefined at first.
    pub locals: Vec<Array>,
    /// Threads of a workgroup, per axis.
    pub block: [u32; 3],
    /// The instructions, by value.
    pub insts: Vec<Inst>,
    /// What is done.
    pub body: Block,
    /// What a device may ask for before it begins.
    pub prefetch: Option<Prefetch>,
    /// Buffers that a launch passes as tensor maps as well; statements in the dialect's own words have them as `ug_map0`, `ug_map1` …
    pub tensor_maps: Vec<TensorMap>,
    /// How many workgroups a compute unit should have room for at once, where the compiler would give threads more registers otherwise.
    pub at_once: Option<u32>,
    /// How many neighbouring workgroups along the grid's first axis are there at the same time, and can wait for each other
    /// ([`crate::Target::clusters`]); the grid has a multiple of them.
    pub cluster: Option<u32>,
    /// What the maker found that cannot be ([`crate::Builder::mistake`]): a program with any is invalid, so that none runs with a part missing.
    pub mistakes: Vec<String>,
}

/// Memory that every workgroup reads first, whatever programs before it wrote: rows of a matrix without gaps, `rows` of them for each workgroup in
/// order. A device may bring the beginnings of these rows nearer while the program ahead still runs. It changes no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefetch {
    /// The buffer: a parameter's position.
    pub param: u32,
    /// Rows of a workgroup; workgroup `x` of the grid has those from `x * rows` on.
    pub rows: u32,
    /// Rows that there are.
    pub count: u32,
    /// Bytes of a row that are asked for, at most [`Prefetch::pitch`].
    pub width: u32,
    /// Bytes from row to row.
    pub pitch: u32,
}

/// A buffer as NVIDIA's tensor memory accelerator sees it, which copies boxes of it to shared memory by itself, 128 bytes a line, whose 16-byte pieces are
/// exchanged by XOR with the line's number modulo 8. What lies beyond a dimension is zero in shared memory.
/// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TENSOR__MEMORY.html>
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorMap {
    /// The buffer, of `F16`, `BF16` or `F32`: a parameter's position.
    pub param: u32,
    /// Elements before the first.
    pub offset: u64,
    /// Whether elements, of `F32`, are rounded to TF32 on the way, to nearest, ties to even.
    pub rounded: bool,
    /// 1 to 5 dimensions, innermost first; that one has a stride of 1, and boxes of 128 bytes.
    pub dims: Vec<MapDim>,
}

/// A dimension of a [`TensorMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapDim {
    /// Indices.
    pub size: u64,
    /// Elements from one index to the next; but for the innermost dimension multiples of 16 bytes.
    pub stride: u64,
    /// Indices of a box, up to 256.
    pub boxed: u32,
}

impl Program {
    /// Threads of a workgroup; [`u32::MAX`] where there are more, as a text may say.
    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |threads: u32, n| threads.saturating_mul(*n))
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.insts[value.index()].ty
    }

    /// Bytes of all shared arrays.
    pub fn shared_bytes(&self) -> usize {
        let bytes = |a: &Array| (a.len as usize).saturating_mul(a.ty.dtype().size() * a.ty.lanes());
        self.shared.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Whether its blocks stand deeper in each other than [`MAX_NESTING`]; for any depth, for it does not recurse.
    pub(crate) fn is_too_deep(&self) -> bool {
        let mut blocks: Vec<(&Block, usize)> = vec![(&self.body, 1)];
        while let Some((block, depth)) = blocks.pop() {
            if depth > MAX_NESTING {
                return true;
            }
            for stmt in block {
                match stmt {
                    Stmt::If { then, otherwise, .. } => blocks.extend([(then, depth + 1), (otherwise, depth + 1)]),
                    Stmt::For { body, .. } => blocks.push((body, depth + 1)),
                    Stmt::While { check, body, .. } => blocks.extend([(check, depth + 1), (body, depth + 1)]),
                    Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => {}
                }
            }
        }
        false
    }

    /// Whether it needs no matrix instructions and nothing in a dialect's own words.
    pub fn is_plain(&self) -> bool {
        !self.has_raw() && !self.insts.iter().any(|inst| matches!(inst.ty, Type::Fragment(_)))
    }

    /// Whether threads of a workgroup wait for each other anywhere.
    pub fn has_barriers(&self) -> bool {
        fn in_block(block: &[Stmt]) -> bool {
            block.iter().any(|stmt| match stmt {
                Stmt::Barrier => true,
                Stmt::If { then, otherwise, .. } => in_block(then) || in_block(otherwise),
                Stmt::For { body, .. } => in_block(body),
                Stmt::While { check, body, .. } => in_block(check) || in_block(body),
                Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Raw(_) => false,
            })
        }
        in_block(&self.body)
    }

    /// Whether any instruction or statement is in a dialect's own words.
    pub(crate) fn has_raw(&self) -> bool {
        fn in_block(block: &[Stmt]) -> bool {
            block.iter().any(|stmt| match stmt {
                Stmt::Raw(_) => true,
                Stmt::If { then, otherwise, .. } => in_block(then) || in_block(otherwise),
                Stmt::For { body, .. } => in_block(body),
                Stmt::While { check, body, .. } => in_block(check) || in_block(body),
                Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier => false,
            })
        }
        self.insts.iter().any(|inst| matches!(inst.op, Op::Raw(_))) || in_block(&self.body)
    }

    /// The element type of a place.
    pub fn place_type(&self, place: Place) -> Option<Type> {
        match place {
            Place::Param(i) | Place::Table(i, _) => match self.params.get(i as usize)? {
                Param::Buffer { dtype, .. } | Param::Table { dtype, .. } => Some(Type::Scalar(*dtype)),
                Param::Scalar { .. } | Param::ScalarTable { .. } => None,
            },
            Place::Shared(i) => self.shared.get(i as usize).map(|a| a.ty),
            Place::Local(i) => self.locals.get(i as usize).map(|a| a.ty),
        }
    }
}

impl Drop for Program {
    /// Without recursion, however deep the blocks of a program stand that was never checked.
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.body);
        while let Some(stmt) = left.pop() {
            match stmt {
                Stmt::If { mut then, mut otherwise, .. } => {
                    left.append(&mut then);
                    left.append(&mut otherwise);
                }
                Stmt::For { mut body, .. } => left.append(&mut body),
                Stmt::While { mut check, mut body, .. } => {
                    left.append(&mut check);
                    left.append(&mut body);
                }
                Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => {}
            }
        }
    }
}

impl Op {
    /// Calls `f` with every value the instruction uses, to change it.
    pub(crate) fn visit_values_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        fn place(place: &mut Place, f: &mut dyn FnMut(&mut Value)) {
            if let Place::Table(_, which) = place {
                f(which);
            }
        }
        match self {
            Op::Const(_) | Op::Scalar(_) | Op::Thread(_) | Op::Group(_) | Op::GroupCount(_) | Op::Lane | Op::Counter => {}
            Op::TableScalar(_, a)
            | Op::Unary(_, a)
            | Op::ApproxExp2(a)
            | Op::Cast(a)
            | Op::Bitcast(a)
            | Op::Extract(a, _)
            | Op::Subgroup(_, a)
            | Op::FragmentFill(a) => f(a),
            Op::Binary(_, a, b) | Op::MulHi(a, b) => [a, b].into_iter().for_each(f),
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::FragmentMma(a, b, c) => [a, b, c].into_iter().for_each(f),
            Op::Load(p, index) => {
                place(p, f);
                f(index);
            }
            Op::Compose(values) => values.iter_mut().for_each(f),
            Op::Atomic(_, p, index, value) => {
                place(p, f);
                [index, value].into_iter().for_each(f);
            }
            Op::CompareExchange(p, index, expected, new) => {
                place(p, f);
                [index, expected, new].into_iter().for_each(f);
            }
            Op::FragmentLoad { place: p, index, stride, .. } => {
                place(p, f);
                [index, stride].into_iter().for_each(f);
            }
            Op::Raw(raw) => {
                raw.values.iter_mut().for_each(&mut *f);
                raw.places.iter_mut().for_each(|p| place(p, f));
            }
        }
    }

    /// Calls `f` with every value the instruction uses.
    pub fn visit_values(&self, mut f: impl FnMut(Value)) {
        let place = |p: &Place, f: &mut dyn FnMut(Value)| {
            if let Place::Table(_, which) = p {
                f(*which);
            }
        };
        match self {
            Op::Const(_) | Op::Scalar(_) | Op::Thread(_) | Op::Group(_) | Op::GroupCount(_) | Op::Lane | Op::Counter => {}
            Op::TableScalar(_, a)
            | Op::Unary(_, a)
            | Op::ApproxExp2(a)
            | Op::Cast(a)
            | Op::Bitcast(a)
            | Op::Extract(a, _)
            | Op::Subgroup(_, a)
            | Op::FragmentFill(a) => f(*a),
            Op::Binary(_, a, b) | Op::MulHi(a, b) => [a, b].into_iter().for_each(|v| f(*v)),
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::FragmentMma(a, b, c) => [a, b, c].into_iter().for_each(|v| f(*v)),
            Op::Load(p, index) => {
                place(p, &mut f);
                f(*index);
            }
            Op::Compose(values) => values.iter().for_each(|v| f(*v)),
            Op::Atomic(_, p, index, value) => {
                place(p, &mut f);
                f(*index);
                f(*value);
            }
            Op::CompareExchange(p, index, expected, new) => {
                place(p, &mut f);
                [index, expected, new].into_iter().for_each(|v| f(*v));
            }
            Op::FragmentLoad { place: p, index, stride, .. } => {
                place(p, &mut f);
                f(*index);
                f(*stride);
            }
            Op::Raw(raw) => {
                raw.values.iter().for_each(|v| f(*v));
                raw.places.iter().for_each(|p| place(p, &mut f));
            }
        }
    }
}
