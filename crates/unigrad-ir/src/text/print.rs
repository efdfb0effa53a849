//! Programs as text.

use std::fmt::{self, Display, Write as _};

use unigrad_scalar::{DType, Literal};

use crate::ir::{
    Array, Block, FragmentRole, Inst, MAX_NESTING, MapDim, Op, Param, Place, Prefetch, Program, Raw, Stmt, SubgroupOp, TensorMap, Type,
    Value,
};

/// `x`, `y` or `z`.
pub(crate) const AXES: [&str; 3] = ["x", "y", "z"];

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(dtype) => write!(f, "{dtype}"),
            Type::Vector(dtype, lanes) => write!(f, "{dtype}x{lanes}"),
            Type::Fragment(fragment) => {
                let role = match fragment.role {
                    FragmentRole::A => 'a',
                    FragmentRole::B => 'b',
                    FragmentRole::C => 'c',
                };
                let s = fragment.shape;
                write!(f, "frag<{role}, {}x{}x{}, {}, {}>", s.m, s.n, s.k, s.input, s.sum)
            }
        }
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(param).collect();
        let [x, y, z] = self.block;
        writeln!(f, "kernel {}({}) threads({x}, {y}, {z}) {{", self.name, params.join(", "))?;
        let arrays = self.shared.iter().map(|array| ("shared", array)).chain(self.locals.iter().map(|array| ("local", array)));
        for (space, Array { name, ty, len }) in arrays {
            writeln!(f, "    {space} {name}: [{ty}; {len}]")?;
        }
        if let Some(Prefetch { param, rows, count, width, pitch }) = self.prefetch {
            writeln!(f, "    prefetch {}: {rows} of {count} rows, {width} of {pitch} bytes", param_name(self, param))?;
        }
        for TensorMap { param, offset, rounded, dims } in &self.tensor_maps {
            let rounded = if *rounded { " rounded" } else { "" };
            write!(f, "    tensor_map {}: from {offset}{rounded}", param_name(self, *param))?;
            for MapDim { size, stride, boxed } in dims {
                write!(f, ", {boxed} of {size} by {stride}")?;
            }
            writeln!(f)?;
        }
        if let Some(workgroups) = self.at_once {
            writeln!(f, "    at_once {workgroups}")?;
        }
        if let Some(workgroups) = self.cluster {
            writeln!(f, "    cluster {workgroups}")?;
        }
        block(self, &self.body, 1, f)?;
        f.write_str("}\n")
    }
}

fn param(param: &Param) -> String {
    match param {
        Param::Buffer { name, dtype, write, atomic } => {
            let mode = match (write, atomic) {
                (false, false) => "",
                (true, false) => "mut ",
                (true, true) => "atomic ",
                (false, true) => "const atomic ",
            };
            format!("{name}: {mode}[{dtype}]")
        }
        Param::Table { name, dtype, count, write } => format!("{name}: {}[{dtype}] * {count}", if *write { "mut " } else { "" }),
        Param::Scalar { name, dtype } => format!("{name}: {dtype}"),
        Param::ScalarTable { name, dtype, count } => format!("{name}: {dtype} * {count}"),
    }
}

fn param_name(program: &Program, at: u32) -> String {
    match program.params.get(at as usize) {
        Some(Param::Buffer { name, .. } | Param::Table { name, .. } | Param::Scalar { name, .. } | Param::ScalarTable { name, .. }) => {
            name.clone()
        }
        None => format!("?{at}"),
    }
}

/// The name of an array or parameter; of a table with the value that chooses.
pub(crate) fn place_name(program: &Program, place: Place) -> String {
    let array = |arrays: &[Array], at: u32| arrays.get(at as usize).map_or_else(|| format!("?{at}"), |a| a.name.clone());
    match place {
        Place::Param(at) => param_name(program, at),
        Place::Table(at, which) => format!("{}[{which}]", param_name(program, at)),
        Place::Shared(at) => array(&program.shared, at),
        Place::Local(at) => array(&program.locals, at),
    }
}

fn block(program: &Program, block: &Block, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    block_lines(program, block, depth, &mut |depth, line| writeln!(f, "{:1$}{line}", "", 4 * depth))
}

/// Calls `line` with depth and text of every line of a block.
fn block_lines(program: &Program, block: &Block, depth: usize, line: &mut dyn FnMut(usize, &str) -> fmt::Result) -> fmt::Result {
    if depth > MAX_NESTING {
        // No valid program has such a block.
        return line(depth, "...");
    }
    for stmt in block {
        line(depth, &one_line(program, stmt))?;
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                block_lines(program, then, depth + 1, line)?;
                if !otherwise.is_empty() {
                    line(depth, "} else {")?;
                    block_lines(program, otherwise, depth + 1, line)?;
                }
                line(depth, "}")?;
            }
            Stmt::For { body, .. } => {
                block_lines(program, body, depth + 1, line)?;
                line(depth, "}")?;
            }
            Stmt::While { check, condition, body } => {
                block_lines(program, check, depth + 1, line)?;
                line(depth, &format!("}} while {condition} {{"))?;
                block_lines(program, body, depth + 1, line)?;
                line(depth, "}")?;
            }
            Stmt::Let(_) | Stmt::Store { .. } | Stmt::FragmentStore { .. } | Stmt::Barrier | Stmt::Raw(_) => {}
        }
    }
    Ok(())
}

/// A statement; of one with blocks, the line that opens it.
pub(crate) fn one_line(program: &Program, stmt: &Stmt) -> String {
    let place = |p: &Place| place_name(program, *p);
    match stmt {
        Stmt::Let(value) => match program.insts.get(value.index()) {
            Some(inst) => format!("{value} = {}", instruction(program, inst)),
            None => format!("{value} = ?"),
        },
        Stmt::Store { place: p, index, value } => format!("store {}[{index}], {value}", place(p)),
        Stmt::FragmentStore { place: p, index, stride, value } => format!("store_fragment {}[{index}], {stride}, {value}", place(p)),
        Stmt::Barrier => "barrier".to_owned(),
        Stmt::If { condition, .. } => format!("if {condition} {{"),
        Stmt::For { counter, start, end, step, unroll, .. } => {
            let ty = program.insts.get(counter.index()).map_or_else(|| "?".to_owned(), |inst| inst.ty.to_string());
            format!("for {counter}: {ty} in {start}..{end} step {step}{} {{", if *unroll { " unroll" } else { "" })
        }
        Stmt::While { .. } => "loop {".to_owned(),
        Stmt::Raw(r) => format!("raw {}", raw(program, r)),
    }
}

/// The right side of a `Let`.
fn instruction(program: &Program, inst: &Inst) -> String {
    let ty = inst.ty;
    let place = |p: &Place| place_name(program, *p);
    let dtype_of = |v: &Value| program.insts.get(v.index()).map_or(ty, |i| i.ty);
    // The type that the words imply for the result; anything else is said after an arrow.
    let mut implied = ty;
    let is_bool = Type::Scalar(DType::Bool);
    let is_index = Type::Scalar(DType::U32);
    let along = |axis: u8| AXES.get(usize::from(axis)).unwrap_or(&"?");
    let text = match &inst.op {
        Op::Const(value) => {
            implied = Type::Scalar(value.dtype());
            format!("const {} {}", value.dtype(), literal(*value))
        }
        Op::Scalar(at) => {
            implied = param_type(program, *at, ty);
            format!("param {}", param_name(program, *at))
        }
        Op::TableScalar(at, which) => {
            implied = param_type(program, *at, ty);
            format!("param {}[{which}]", param_name(program, *at))
        }
        Op::Thread(axis) => {
            implied = is_index;
            format!("thread.{}", along(*axis))
        }
        Op::Group(axis) => {
            implied = is_index;
            format!("group.{}", along(*axis))
        }
        Op::GroupCount(axis) => {
            implied = is_index;
            format!("group_count.{}", along(*axis))
        }
        Op::Lane => {
            implied = is_index;
            "lane".to_owned()
        }
        Op::Counter => format!("counter {ty}"),
        Op::Unary(op, a) if op.gives_bool() => {
            implied = is_bool;
            format!("{op} {} {a}", dtype_of(a))
        }
        Op::Unary(op, a) => format!("{op} {ty} {a}"),
        Op::ApproxExp2(a) => format!("approx_exp2 {ty} {a}"),
        Op::Binary(op, a, b) if op.is_comparison() => {
            implied = is_bool;
            format!("{op} {} {a}, {b}", dtype_of(a))
        }
        Op::Binary(op, a, b) => format!("{op} {ty} {a}, {b}"),
        Op::Fma(a, b, c) => format!("fma {ty} {a}, {b}, {c}"),
        Op::MulHi(a, b) => format!("mul_hi {ty} {a}, {b}"),
        Op::Select(condition, a, b) => format!("select {ty} {condition}, {a}, {b}"),
        Op::Cast(a) => format!("cast {ty} {a}"),
        Op::Bitcast(a) => format!("bitcast {ty} {a}"),
        Op::Load(p, index) => format!("load {ty} {}[{index}]", place(p)),
        Op::Compose(values) => format!("compose {ty} {}", list(values)),
        Op::Extract(a, lane) => format!("extract {ty} {a}, {lane}"),
        Op::Atomic(op, p, index, value) => {
            format!("atomic.{} {ty} {}[{index}], {value}", format!("{op:?}").to_lowercase(), place(p))
        }
        Op::CompareExchange(p, index, expected, new) => format!("compare_exchange {ty} {}[{index}], {expected}, {new}", place(p)),
        Op::Subgroup(op, a) => match op {
            SubgroupOp::Reduce(op) => format!("subgroup.{op} {ty} {a}"),
            SubgroupOp::ShuffleXor(n) => format!("subgroup.shuffle_xor {ty} {a}, {n}"),
            SubgroupOp::ShuffleDown(n) => format!("subgroup.shuffle_down {ty} {a}, {n}"),
            SubgroupOp::ShuffleUp(n) => format!("subgroup.shuffle_up {ty} {a}, {n}"),
            SubgroupOp::Broadcast(n) => format!("subgroup.broadcast {ty} {a}, {n}"),
        },
        Op::FragmentFill(a) => format!("fill {ty} {a}"),
        Op::FragmentLoad { place: p, index, stride, transposed } => {
            format!("load_fragment {ty} {}[{index}], {stride}{}", place(p), if *transposed { ", transposed" } else { "" })
        }
        Op::FragmentMma(a, b, c) => format!("mma {ty} {a}, {b}, {c}"),
        Op::Raw(r) => format!("raw {ty} {}", raw(program, r)),
    };
    if implied == ty { text } else { format!("{text} -> {ty}") }
}

fn param_type(program: &Program, at: u32, otherwise: Type) -> Type {
    match program.params.get(at as usize) {
        Some(Param::Scalar { dtype, .. } | Param::ScalarTable { dtype, .. } | Param::Buffer { dtype, .. } | Param::Table { dtype, .. }) => {
            Type::Scalar(*dtype)
        }
        None => otherwise,
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// A literal that reads back to the same bits.
pub(crate) fn literal(value: Literal) -> String {
    let dtype = value.dtype();
    let x = value.as_f64();
    match dtype {
        DType::Bool => (value.as_i64() != 0).to_string(),
        DType::U64 => (value.as_i64() as u64).to_string(),
        DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::I64 => value.as_i64().to_string(),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 if x.is_nan() => {
            if value == Literal::float(dtype, f64::NAN) { "nan".to_owned() } else { format!("{:#x}", value.to_raw()) }
        }
        DType::F64 => format!("{x:?}"),
        DType::F16 | DType::BF16 | DType::F32 | DType::F8E4M3 | DType::F8E5M2 => format!("{:?}", x as f32),
    }
}

fn raw(program: &Program, raw: &Raw) -> String {
    let mut text = format!("({}; ", list(&raw.values));
    text += &raw.places.iter().map(|p| place_name(program, *p)).collect::<Vec<_>>().join(", ");
    text += ") {";
    for (dialect, words) in &raw.preludes {
        let _ = write!(text, " prelude {} {words:?}", dialect.name());
    }
    for (dialect, words) in &raw.texts {
        let _ = write!(text, " {} {words:?}", dialect.name());
    }
    text + " }"
}
