//! One rule per instruction and store: types, places, features.

use unigrad_scalar::{BinaryOp, DType, ReduceOp};

use super::{At, Checker, Level};
use crate::{
    ir::{Array, AtomicOp, Fragment, FragmentRole, Inst, Op, Param, Place, Raw, SubgroupOp, Type, Value},
    render, text,
};

const CAST: &str = "cast it, or make it with the right type";

impl Checker<'_> {
    /// Whether a value may be used and has a type.
    fn wants(&mut self, value: Value, wanted: Type) {
        if let Some(ty) = self.used(value)
            && ty != wanted
        {
            self.error(At::Value(value), format!("{value} is {ty}, not {wanted}"), CAST);
        }
    }

    /// A value that is a scalar.
    fn scalar(&mut self, value: Value) -> Option<DType> {
        match self.used(value)? {
            Type::Scalar(dtype) => Some(dtype),
            ty @ (Type::Vector(..) | Type::Fragment(_)) => {
                self.error(At::Value(value), format!("{value} is {ty}, not a scalar"), "extract one lane of it");
                None
            }
        }
    }

    fn index(&mut self, index: Value) {
        if let Some(dtype) = self.scalar(index)
            && !matches!(dtype, DType::U32 | DType::I32 | DType::U64 | DType::I64)
        {
            self.error(At::Value(index), format!("{index} is {dtype}, and an index is u32, i32, u64 or i64"), "cast it");
        }
    }

    fn result(&mut self, inst: &Inst, wanted: Type) {
        if inst.ty != wanted {
            let cause = format!("the result is {wanted}, not {}", inst.ty);
            self.error(At::Line, cause, "give the instruction that type");
        }
    }

    /// Refuses arithmetic in a dtype that has none, or not this.
    fn takes(&mut self, at: Value, word: &str, dtype: DType, good: bool) {
        if dtype.compute() != dtype {
            let cause = format!("{at} is {dtype}, a storage format without arithmetic");
            self.error(At::Value(at), cause, "cast it to f32 first, and the result back when it is stored");
        } else if !good {
            self.error(At::Value(at), format!("`{word}` does not take {dtype}"), "cast the argument, or use the operation for its type");
        }
    }

    pub(super) fn instruction(&mut self, inst: &Inst, control: Level) {
        let (program, target) = (self.program, self.target);
        let ty = inst.ty;
        self.type_available(ty, At::Line);
        let (u32_type, bool_type) = (Type::Scalar(DType::U32), Type::Scalar(DType::Bool));
        match &inst.op {
            Op::Const(literal) => self.result(inst, Type::Scalar(literal.dtype())),
            Op::Scalar(at) => match program.params.get(*at as usize) {
                Some(Param::Scalar { dtype, .. }) => self.result(inst, Type::Scalar(*dtype)),
                _ => self.error(At::Line, format!("parameter {at} is not a number"), "read the parameter that `scalar` made"),
            },
            Op::TableScalar(at, which) => {
                self.wants(*which, u32_type);
                match program.params.get(*at as usize) {
                    Some(Param::ScalarTable { dtype, count, .. }) => {
                        self.result(inst, Type::Scalar(*dtype));
                        self.within(*which, 1, *count);
                    }
                    _ => self.error(At::Line, format!("parameter {at} is no table of numbers"), "read one that `scalar_table` made"),
                }
            }
            Op::Thread(axis) | Op::Group(axis) | Op::GroupCount(axis) => {
                self.result(inst, u32_type);
                if *axis > 2 {
                    self.error(At::Line, format!("there is no axis {axis}"), "use 0, 1 or 2");
                }
            }
            Op::Lane => {
                self.result(inst, u32_type);
                self.subgroups(Level::Uniform);
            }
            Op::Counter => self.error(At::Line, "a counter outside of a loop", "let a loop name it instead"),
            Op::Unary(op, a) => {
                if let Some(dtype) = self.scalar(*a) {
                    self.takes(*a, op.name(), dtype, op.class().takes(dtype));
                    self.result(inst, if op.gives_bool() { bool_type } else { Type::Scalar(dtype) });
                }
            }
            Op::ApproxExp2(a) => {
                self.wants(*a, Type::Scalar(DType::F32));
                self.result(inst, Type::Scalar(DType::F32));
            }
            Op::Binary(op, a, b) => {
                if let (Some(dtype), Some(other)) = (self.scalar(*a), self.scalar(*b)) {
                    if dtype != other {
                        self.error(At::Value(*b), format!("{b} is {other}, {a} is {dtype}"), CAST);
                    }
                    self.takes(*a, op.name(), dtype, binary_takes(*op, dtype));
                    self.result(inst, if op.is_comparison() { bool_type } else { Type::Scalar(dtype) });
                }
            }
            Op::Fma(a, b, c) => {
                if let Some(dtype) = self.scalar(*a) {
                    self.takes(*a, "fma", dtype, dtype.is_float());
                    [b, c].into_iter().for_each(|v| self.wants(*v, Type::Scalar(dtype)));
                    self.result(inst, Type::Scalar(dtype));
                }
            }
            Op::MulHi(a, b) => {
                [a, b].into_iter().for_each(|v| self.wants(*v, u32_type));
                self.result(inst, u32_type);
            }
            Op::Select(condition, a, b) => {
                self.condition(*condition);
                [a, b].into_iter().for_each(|v| self.wants(*v, ty));
                if let Type::Fragment(_) = ty {
                    self.error(At::Line, "fragments cannot be selected", "branch, and keep the fragment in a local array");
                }
            }
            Op::Cast(a) => {
                self.scalar(*a);
                if !matches!(ty, Type::Scalar(_)) {
                    self.error(At::Line, format!("a conversion gives a scalar, not {ty}"), "convert lane by lane");
                }
            }
            Op::Bitcast(a) => {
                if let Some(dtype) = self.scalar(*a)
                    && (!matches!(ty, Type::Scalar(_)) || dtype.size() != ty.dtype().size() || [dtype, ty.dtype()].contains(&DType::Bool))
                {
                    self.error(
                        At::Value(*a),
                        format!("the bits of {dtype} are not those of {ty}"),
                        "cast to a type of the same size first",
                    );
                }
            }
            Op::Load(place, index) => {
                self.index(*index);
                self.element(*place, *index, ty);
            }
            Op::Compose(values) => match ty {
                Type::Vector(dtype, lanes) if values.len() == usize::from(lanes) => {
                    values.iter().for_each(|v| self.wants(*v, Type::Scalar(dtype)));
                }
                Type::Scalar(_) | Type::Vector(..) | Type::Fragment(_) => {
                    self.error(At::Line, format!("{} values do not make {ty}", values.len()), "give one scalar per lane")
                }
            },
            Op::Extract(vector, lane) => match self.used(*vector) {
                Some(Type::Vector(dtype, lanes)) => {
                    self.result(inst, Type::Scalar(dtype));
                    if *lane >= lanes {
                        self.error(At::Line, format!("{vector} has no lane {lane}"), format!("use 0 to {}", lanes - 1));
                    }
                }
                Some(other) => self.error(At::Value(*vector), format!("{vector} is {other}, not a vector"), "use the value itself"),
                None => {}
            },
            Op::Atomic(op, place, index, value) => {
                self.index(*index);
                let dtype = self.atomic_place(*place, *index);
                if let (Some(dtype), Some(found)) = (dtype, self.scalar(*value)) {
                    if found != dtype {
                        self.error(At::Value(*value), format!("{value} is {found}, the elements are {dtype}"), CAST);
                    }
                    let float = dtype == DType::F32 && *op == AtomicOp::Add && target.atomic_f32;
                    self.atomic_type(dtype, float);
                    self.result(inst, Type::Scalar(dtype));
                }
            }
            Op::CompareExchange(place, index, expected, new) => {
                self.index(*index);
                if let Some(dtype) = self.atomic_place(*place, *index) {
                    [expected, new].into_iter().for_each(|v| self.wants(*v, Type::Scalar(dtype)));
                    self.atomic_type(dtype, false);
                    self.result(inst, Type::Scalar(dtype));
                }
            }
            Op::Subgroup(op, a) => {
                self.subgroups(control);
                if let Some(dtype) = self.scalar(*a) {
                    self.result(inst, Type::Scalar(dtype));
                    self.subgroup_op(*op, *a, dtype);
                }
            }
            Op::FragmentFill(a) => {
                self.subgroups(control);
                if self.fragment(ty).is_some() {
                    self.wants(*a, Type::Scalar(ty.dtype()));
                    self.agreed(*a);
                }
            }
            Op::FragmentLoad { place, index, stride, .. } => {
                self.subgroups(control);
                if self.fragment(ty).is_some() {
                    self.fragment_memory(*place, *index, *stride, ty.dtype());
                }
            }
            Op::FragmentMma(a, b, c) => {
                self.subgroups(control);
                if let Some(Fragment { shape, .. }) = self.fragment(ty) {
                    for (value, role) in [(a, FragmentRole::A), (b, FragmentRole::B), (c, FragmentRole::C)] {
                        self.wants(*value, Type::Fragment(Fragment { shape, role }));
                    }
                    self.result(inst, Type::Fragment(Fragment { shape, role: FragmentRole::C }));
                }
            }
            Op::Raw(raw) => self.raw(raw),
        }
    }

    fn subgroup_op(&mut self, op: SubgroupOp, a: Value, dtype: DType) {
        let lane = match op {
            SubgroupOp::Reduce(op) => {
                let good = dtype != DType::Bool || matches!(op, ReduceOp::Max | ReduceOp::Min);
                self.takes(a, op.name(), dtype, good);
                return;
            }
            SubgroupOp::ShuffleXor(lane) | SubgroupOp::ShuffleDown(lane) | SubgroupOp::ShuffleUp(lane) | SubgroupOp::Broadcast(lane) => {
                lane
            }
        };
        if self.target.subgroup.is_some_and(|size| lane >= size) {
            self.error(At::Line, format!("a subgroup has no lane {lane}"), "stay below the subgroup's size");
        }
    }

    /// What needs whole subgroups, under control flow that differs between threads so far.
    fn subgroups(&mut self, control: Level) {
        match self.target.subgroup {
            None => self.error(At::Line, "the target's subgroups are not known", "go through shared memory"),
            Some(size) if !self.program.threads().is_multiple_of(size) => {
                let cause = format!("{} threads are no multiple of the subgroup's {size}", self.program.threads());
                self.error(At::Line, cause, "let a group have whole subgroups");
            }
            Some(_) if control == Level::Varying => {
                let help = "hoist the operation out of the branch or loop, and select what idle threads contribute";
                self.error(At::Line, "not all threads of the subgroup reach this", help);
            }
            Some(_) => {}
        }
    }

    /// The integer that a constant index is must be within `len` elements, `lanes` of them being touched.
    fn within(&mut self, index: Value, lanes: usize, len: u32) {
        if let Some(at) = self.constant(index) {
            let lanes = lanes as i64;
            if at < 0 || at + lanes > i64::from(len) {
                self.error(At::Value(index), format!("{index} is {at}, and there are {len} elements"), "stay below the length");
            } else if lanes > 1 && at % lanes != 0 {
                self.error(At::Value(index), format!("{index} is {at}, no multiple of {lanes} lanes"), "load the elements one by one");
            }
        }
    }

    fn array(&self, place: Place) -> Option<&Array> {
        match place {
            Place::Shared(at) => self.program.shared.get(at as usize),
            Place::Local(at) => self.program.locals.get(at as usize),
            Place::Param(_) | Place::Table(..) => None,
        }
    }

    /// The element type of a place, if it is one.
    fn place(&mut self, place: Place) -> Option<Type> {
        let program = self.program;
        let name = text::place_name(program, place);
        if let Place::Table(at, which) = place {
            self.wants(which, Type::Scalar(DType::U32));
            if let Some(Param::Table { count, .. }) = program.params.get(at as usize) {
                self.within(which, 1, *count);
            }
        }
        let found = match place {
            Place::Param(at) => matches!(program.params.get(at as usize), Some(Param::Buffer { .. })),
            Place::Table(at, _) => matches!(program.params.get(at as usize), Some(Param::Table { .. })),
            Place::Shared(_) | Place::Local(_) => self.array(place).is_some(),
        };
        if !found {
            let help = "load and store through buffers, tables and arrays; read numbers with `param`";
            self.error(At::Words(&name), format!("{name} is not memory of this kind"), help);
            return None;
        }
        program.place_type(place)
    }

    /// An access of type `ty` to a place: one element, or in scalar memory a vector.
    fn element(&mut self, place: Place, index: Value, ty: Type) {
        let Some(element) = self.place(place) else { return };
        let good = match (element, ty) {
            (Type::Scalar(held), Type::Vector(dtype, _)) => held == dtype && !matches!(place, Place::Local(_)),
            _ => element == ty,
        };
        if !good {
            let name = text::place_name(self.program, place);
            self.error(At::Words(&name), format!("{name} holds {element}, not {ty}"), CAST);
        }
        if let Some(len) = self.array(place).map(|array| array.len) {
            let lanes = if element == ty { 1 } else { ty.lanes() };
            self.within(index, lanes, len);
        }
    }

    /// Whether the program may write to a place.
    fn writable(&mut self, place: Place) {
        let (Place::Param(at) | Place::Table(at, _)) = place else { return };
        if let Some(Param::Buffer { name, write: false, .. } | Param::Table { name, write: false, .. }) =
            self.program.params.get(at as usize)
        {
            let cause = format!("{name} is only read");
            self.error(At::Words(name), cause, "declare it `mut`");
        }
    }

    pub(super) fn store(&mut self, place: Place, index: Value, value: Value) {
        self.index(index);
        if let Some(ty) = self.used(value) {
            self.element(place, index, ty);
        }
        self.writable(place);
    }

    /// The element type of memory that atomics may work on.
    fn atomic_place(&mut self, place: Place, index: Value) -> Option<DType> {
        let Type::Scalar(dtype) = self.place(place)? else { return None };
        let name = text::place_name(self.program, place);
        match place {
            Place::Param(at) => {
                if !matches!(self.program.params.get(at as usize), Some(Param::Buffer { atomic: true, .. })) {
                    self.error(At::Words(&name), format!("{name} is not declared for atomics"), "declare it `atomic`");
                }
            }
            Place::Shared(_) => {}
            Place::Table(..) | Place::Local(_) => {
                self.error(At::Words(&name), "atomics work on buffers and shared arrays", "use one of those");
            }
        }
        if let Some(len) = self.array(place).map(|array| array.len) {
            self.within(index, 1, len);
        }
        Some(dtype)
    }

    fn atomic_type(&mut self, dtype: DType, also: bool) {
        let wide = matches!(dtype, DType::I64 | DType::U64) && self.target.atomic_i64;
        if !(matches!(dtype, DType::U32 | DType::I32) || wide || also) {
            let cause = format!("the target has no such atomic of {dtype}");
            self.error(At::Line, cause, "compare and exchange the bits as u32, or sum in a fixed order without atomics");
        }
    }

    fn fragment(&mut self, ty: Type) -> Option<Fragment> {
        match ty {
            Type::Fragment(fragment) => Some(fragment),
            Type::Scalar(_) | Type::Vector(..) => {
                self.error(At::Line, format!("{ty} is not a fragment"), "give the instruction a fragment's type");
                None
            }
        }
    }

    /// What all threads of a subgroup must agree on.
    fn agreed(&mut self, value: Value) {
        if self.spreads.value(value) == Level::Varying {
            let help = "derive it from what the subgroup shares: group indices, and `thread.x / subgroup`";
            self.error(At::Value(value), format!("{value} differs between threads of a subgroup"), help);
        }
    }

    fn fragment_memory(&mut self, place: Place, index: Value, stride: Value, dtype: DType) {
        self.index(index);
        self.wants(stride, Type::Scalar(DType::U32));
        [index, stride].into_iter().for_each(|v| self.agreed(v));
        for number in [index, stride] {
            if let Some(n) = self.constant(number).filter(|n| n % 8 != 0) {
                self.error(At::Value(number), format!("{number} is {n}, no multiple of 8"), "pad the rows");
            }
        }
        let element = self.place(place);
        let name = text::place_name(self.program, place);
        if let Place::Local(_) = place {
            self.error(
                At::Words(&name),
                "fragments are loaded from and stored to buffers and shared arrays",
                "keep them in an array of fragments",
            );
        }
        if element.is_some_and(|element| element != Type::Scalar(dtype)) {
            self.error(At::Words(&name), format!("{name} does not hold {dtype}"), "convert the elements first");
        }
    }

    pub(super) fn fragment_store(&mut self, place: Place, [index, stride, value]: [Value; 3], control: Level) {
        self.subgroups(control);
        let Some(ty) = self.used(value) else { return };
        if let Some(fragment) = self.fragment(ty) {
            if fragment.role != FragmentRole::C {
                self.error(At::Value(value), "only a fragment of role c is stored", "store the sum");
            }
            self.fragment_memory(place, index, stride, fragment.dtype());
        }
        self.writable(place);
    }

    pub(super) fn raw(&mut self, raw: &Raw) {
        raw.values.iter().for_each(|v| {
            self.used(*v);
        });
        raw.places.iter().for_each(|p| {
            self.place(*p);
        });
        let dialect = self.target.dialect;
        match raw.texts.iter().find(|(d, _)| *d == dialect) {
            None => {
                let cause = format!("there are no words for the dialect {}", dialect.name());
                self.error(At::Line, cause, "add a text for it, or lower without raw words for this target");
            }
            Some((_, words)) => {
                let dummy = |n: usize| vec![String::new(); n];
                if let Err(cause) = render::fill_raw(words, &dummy(raw.values.len()), &dummy(raw.places.len())) {
                    self.error(At::Line, cause, "name values `{v0}`, places `{p0}`, and write braces twice");
                }
            }
        }
    }
}

fn binary_takes(op: BinaryOp, dtype: DType) -> bool {
    use BinaryOp::*;
    match op {
        Div | Atan2 => dtype.is_float(),
        Add | Sub | Mul | IDiv | Rem | Pow => dtype != DType::Bool,
        // `false < true`.
        Max | Min | Eq | Ne | Lt | Le | Gt | Ge => true,
        And | Or | Xor => !dtype.is_float(),
        Shl | Shr => dtype.is_int(),
    }
}
