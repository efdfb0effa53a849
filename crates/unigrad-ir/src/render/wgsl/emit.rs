//! Instructions and statements.

use super::{Rep, Writer, halves, rep, unroll, v};
use crate::{Dialect, Op, Param, Place, Raw, RenderError, Stmt, SubgroupOp, Type, Value};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

impl Writer<'_> {
    pub(super) fn block(&mut self, block: &[Stmt]) -> Result<(), RenderError> {
        for (at, stmt) in block.iter().enumerate() {
            self.stmt(stmt)?;
            let rest = &block[at + 1..];
            if let Stmt::Let(value) = stmt
                && let Some(count) = self.divides(*value, rest)
            {
                return self.divide(*value, count, rest);
            }
        }
        Ok(())
    }

    pub(super) fn nested(&mut self, block: &[Stmt]) -> Result<(), RenderError> {
        self.depth += 1;
        let result = self.block(block);
        self.depth -= 1;
        result
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), RenderError> {
        match stmt {
            Stmt::Let(value) if self.unsaid[value.index()] => {}
            Stmt::Let(value) if self.extremum(*value).is_some() => self.tell_extremum(*value),
            Stmt::Let(value) => {
                self.known.learn(self.program, *value);
                let expr = self.expr(*value).map_err(|error| RenderError { at: error.at.or(Some(*value)), ..error })?;
                self.line(format!("let {} = {expr};", v(*value)));
            }
            Stmt::Store { place, index, value } => self.store(*place, *index, *value)?,
            Stmt::FragmentStore { place, index, stride, value } => self.store_fragment(*place, [*index, *stride, *value])?,
            Stmt::Barrier => {
                self.line("workgroupBarrier();");
                if self.shares_buffers {
                    self.line("storageBarrier();");
                }
            }
            Stmt::If { condition, then, otherwise } => {
                self.line(format!("if ({}) {{", v(*condition)));
                self.nested(then)?;
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise)?;
                }
                self.line("}");
            }
            Stmt::For { counter, start, end, step, body, .. } => {
                let dtype = self.program.ty(*counter).dtype();
                if let Some(steps) = unroll::steps(self.program, self.options, stmt) {
                    for at in steps {
                        self.line("{");
                        self.known.set(*counter, at.as_i64());
                        let literal = self.literal(at);
                        self.depth += 1;
                        self.line(format!("let {} = {literal};", v(*counter)));
                        self.depth -= 1;
                        self.nested(body)?;
                        self.line("}");
                    }
                    return Ok(());
                }
                let variable = format!("c{}", counter.0);
                self.line(format!("var {variable} = {};", v(*start)));
                self.line("loop {");
                self.depth += 1;
                let inside = self.binary(BinaryOp::Lt, dtype, &variable, &v(*end))?;
                self.line(format!("if (!{inside}) {{"));
                self.line("    break;");
                self.line("}");
                self.line(format!("let {} = {variable};", v(*counter)));
                let body = self.block(body);
                let next = self.binary(BinaryOp::Add, dtype, &variable, &v(*step))?;
                self.line("continuing {");
                self.line(format!("    {variable} = {next};"));
                self.line("}");
                self.depth -= 1;
                self.line("}");
                body?;
            }
            Stmt::While { check, condition, body } => {
                self.line("loop {");
                // What it makes is visible after it.
                self.depth += 1;
                let checked = check.iter().try_for_each(|stmt| self.stmt(stmt));
                self.depth -= 1;
                checked?;
                self.line(format!("    if (!{}) {{", v(*condition)));
                self.line("        break;");
                self.line("    }");
                self.nested(body)?;
                self.line("}");
            }
            Stmt::Raw(raw) => {
                let text = self.raw(raw)?;
                self.line(text);
            }
        }
        Ok(())
    }

    /// What to add to a condition that compares a number with another one to choose it or not: that neither is NaN, which changes nothing. A compiler
    /// that takes no number for NaN, as WGSL allows, makes a minimum of `select(x, 0, x >= 0)`, which is 0 for NaN (NVIDIA's through Vulkan).
    fn ordered(&self, condition: Value, chosen: [Value; 2]) -> String {
        let insts = &self.program.insts;
        let Op::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, a, b) = insts[condition.index()].op else {
            return String::new();
        };
        let numbers = [a, b].into_iter().filter(|value| !matches!(insts[value.index()].op, Op::Const(_)));
        if self.program.ty(a) != Type::Scalar(DType::F32) || !numbers.clone().any(|number| chosen.contains(&number)) {
            return String::new();
        }
        numbers.map(|number| format!(" && !is_nan({})", v(number))).collect()
    }

    /// The operation and its arguments, if a value is the larger or the smaller of two `f32`.
    fn extremum(&self, value: Value) -> Option<(BinaryOp, [Value; 2])> {
        let inst = &self.program.insts[value.index()];
        let Op::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b) = inst.op else { return None };
        (inst.ty == Type::Scalar(DType::F32)).then_some((op, [a, b]))
    }

    /// An extremum in three lines: that of numbers, the largest magnitude as bits, and what it is if that is of no number. Extrema of extrema
    /// go by the first two, so that a reduction asks once whether there was a NaN, not at every step.
    fn tell_extremum(&mut self, value: Value) {
        let Some((op, arguments)) = self.extremum(value) else { return };
        let [a, b] = arguments.map(|argument| match self.extremum(argument) {
            Some((inner, _)) if inner == op => (format!("m{}", argument.0), format!("w{}", argument.0)),
            _ => (v(argument), format!("(bitcast<u32>({}) & 0x7fffffffu)", v(argument))),
        });
        let at = value.0;
        self.line(format!("let m{at} = {op}({}, {});", a.0, b.0));
        self.line(format!("let w{at} = max({}, {});", a.1, b.1));
        self.line(format!("let {} = select(m{at}, nan(), w{at} > 0x7f800000u);", v(value)));
    }

    fn raw(&mut self, raw: &Raw) -> Result<String, RenderError> {
        let of = |texts: &[(Dialect, String)]| texts.iter().find(|(d, _)| *d == Dialect::Wgsl).map(|(_, text)| text.clone());
        let Some(text) = of(&raw.texts) else {
            return Err(self.error(None, "a raw instruction without text for wgsl", "add its text, or lower without it"));
        };
        if let Some(prelude) = of(&raw.preludes)
            && !self.accessors.contains(&prelude)
        {
            self.declarations.push_str(&prelude);
            self.declarations.push('\n');
            self.accessors.push(prelude);
        }
        let values: Vec<String> = raw.values.iter().map(|value| v(*value)).collect();
        let places: Vec<String> = raw.places.iter().map(|place| self.place_name(*place)).collect();
        super::super::fill_raw(&text, &values, &places).map_err(|cause| self.error(None, cause, "check the raw text"))
    }

    fn expr(&mut self, value: Value) -> Result<String, RenderError> {
        let program = self.program;
        let inst = &program.insts[value.index()];
        let dtype = inst.ty.dtype();
        let of = |value: Value| program.ty(value).dtype();
        if let Some(number) = self.known.get(value) {
            return Ok(self.literal(Literal::int(dtype, number)));
        }
        Ok(match &inst.op {
            Op::Const(literal) => self.literal(*literal),
            Op::Scalar(param) => {
                let at = self.scalar_at[*param as usize];
                self.number_of_words(dtype, &Self::word(at), &Self::word(at + 1))
            }
            Op::TableScalar(param, which) => {
                if !matches!(program.params.get(*param as usize), Some(Param::ScalarTable { .. })) {
                    return Err(self.error(Some(value), "no table of numbers", "validate the program first"));
                }
                let (at, wide) = (self.scalar_at[*param as usize], dtype.size().div_ceil(4));
                let which = self.index(*which);
                let word = |k: usize| format!("params[({at}u + {which} * {wide}u + {k}u) >> 2u][({at}u + {which} * {wide}u + {k}u) & 3u]");
                self.number_of_words(dtype, &word(0), &word(wide - 1))
            }
            Op::Thread(axis) => format!("thread[{axis}]"),
            Op::Group(axis) => format!("group[{axis}]"),
            Op::GroupCount(axis) => format!("extents[{axis}]"),
            Op::Lane => "lane".to_owned(),
            Op::Counter => return Err(self.error(Some(value), "a counter outside of its loop", "validate the program first")),
            Op::Unary(op, a) => self.unary(*op, of(*a), &v(*a))?,
            Op::ApproxExp2(a) => self.unary(UnaryOp::Exp2, of(*a), &v(*a))?,
            Op::Binary(op, a, b) => {
                let [x, y] = self.operands(*op, [*a, *b]);
                self.binary(*op, of(*a), &x, &y)?
            }
            Op::Fma(a, b, c) => match rep(dtype) {
                Rep::F32 | Rep::F64 => format!("fma({}, {}, {})", v(*a), v(*b), v(*c)),
                Rep::Bool | Rep::U32 | Rep::I32 | Rep::I64 | Rep::U64 => {
                    return Err(self.error(Some(value), format!("fma of {dtype}"), "it takes f32 and f64"));
                }
            },
            Op::MulHi(a, b) => format!("wide_product({}, {}).y", v(*a), v(*b)),
            Op::Select(condition, a, b) => {
                let ty = self.type_name(inst.ty)?;
                if ty.starts_with("array") {
                    let lanes = (0..inst.ty.lanes()).map(|k| format!("select({}[{k}], {}[{k}], {})", v(*b), v(*a), v(*condition)));
                    format!("{ty}({})", lanes.collect::<Vec<_>>().join(", "))
                } else {
                    let ordered = self.ordered(*condition, [*a, *b]);
                    format!("select({}, {}, {}{ordered})", v(*b), v(*a), v(*condition))
                }
            }
            Op::Cast(a) => match self.extracted_as_f32(*a).filter(|_| dtype == DType::F32) {
                Some(text) => text,
                None => self.cast(of(*a), dtype, &v(*a)),
            },
            Op::Bitcast(a) => self.bitcast(of(*a), dtype, &v(*a))?,
            Op::Load(place, index) => self.load(*place, *index, inst.ty)?,
            Op::Compose(values) if halves::is_half(dtype) => self.compose_halves(dtype, values),
            Op::Compose(values) => {
                let parts: Vec<String> = values.iter().map(|value| v(*value)).collect();
                format!("{}({})", self.type_name(inst.ty)?, parts.join(", "))
            }
            Op::Extract(a, lane) => match program.ty(*a) {
                Type::Vector(dtype, lanes) if halves::is_half(dtype) => halves::lane(&v(*a), lanes.into(), usize::from(*lane)),
                Type::Vector(..) => format!("{}[{lane}]", v(*a)),
                Type::Scalar(_) | Type::Fragment(_) => v(*a),
            },
            Op::Atomic(op, place, index, a) => self.atomic(value, *op, *place, *index, *a)?,
            Op::CompareExchange(place, index, expected, new) => self.compare_exchange(value, *place, *index, *expected, *new)?,
            Op::Subgroup(op, a) => self.subgroup(value, *op, dtype, &v(*a))?,
            Op::FragmentFill(_) | Op::FragmentLoad { .. } | Op::FragmentMma(..) => self.fragment(value)?,
            Op::Raw(raw) => self.raw(raw)?,
        })
    }

    /// Whether `less` takes away again what `sum` has added: `(x + y) - x` is what of `y` went in, and compilers take it for `y`.
    fn is_two_sum(&self, sum: Value, less: Value) -> bool {
        let op = |value: Value| &self.program.insts[value.index()].op;
        // A variable that was read twice counts as one value: to hide what need not be costs an instruction, nothing else.
        let same =
            |a: Value, b: Value| a == b || matches!((op(a), op(b)), (Op::Load(Place::Local(x), _), Op::Load(Place::Local(y), _)) if x == y);
        matches!(op(sum), Op::Binary(BinaryOp::Add, x, y) if same(*x, less) || same(*y, less))
    }

    /// The arguments' texts. Compilers take products and quotients of 0 for 0, whatever the other number is: where one argument is a constant
    /// 0, infinite or no number, they see neither.
    fn operands(&self, op: BinaryOp, arguments: [Value; 2]) -> [String; 2] {
        let is_special = |value: Value| {
            let op = &self.program.insts[value.index()].op;
            matches!(op, Op::Const(literal) if literal.dtype().is_float() && !literal.as_f64().is_normal())
        };
        let is_product = matches!(op, BinaryOp::Mul | BinaryOp::Div) && arguments.into_iter().any(is_special);
        let is_rest = op == BinaryOp::Sub && self.is_two_sum(arguments[0], arguments[1]);
        let hides = |value: Value| is_product || is_rest && value == arguments[0];
        arguments.map(|value| match rep(self.program.ty(value).dtype()) {
            Rep::F32 if hides(value) => format!("opaque({})", v(value)),
            Rep::F64 if hides(value) => format!("opaque_f64({})", v(value)),
            Rep::Bool | Rep::U32 | Rep::I32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => v(value),
        })
    }

    /// `name` of a subgroup function, applied to words where the device's cannot take the type.
    fn shuffle(&self, name: &str, dtype: DType, a: &str, by: &str) -> String {
        match rep(dtype) {
            Rep::Bool => format!("({name}(u32({a}), {by}) != 0u)"),
            Rep::I64 if self.target.i64 => format!("i64_of_words({name}(words_of_i64({a}), {by}))"),
            Rep::U64 if self.target.i64 => format!("u64_of_words({name}(words_of_u64({a}), {by}))"),
            Rep::U32 | Rep::I32 | Rep::F32 | Rep::I64 | Rep::U64 | Rep::F64 => format!("{name}({a}, {by})"),
        }
    }

    fn subgroup(&mut self, value: Value, op: SubgroupOp, dtype: DType, a: &str) -> Result<String, RenderError> {
        let Some(size) = self.target.subgroup else {
            return Err(self.error(Some(value), "the device's subgroups are not known", "reduce in shared memory"));
        };
        Ok(match op {
            SubgroupOp::ShuffleXor(mask) => self.shuffle("subgroupShuffleXor", dtype, a, &format!("{mask}u")),
            SubgroupOp::ShuffleDown(by) => {
                let there = self.shuffle("subgroupShuffleDown", dtype, a, &format!("{by}u"));
                format!("select({a}, {there}, lane + {by}u < {size}u)")
            }
            SubgroupOp::ShuffleUp(by) => {
                let there = self.shuffle("subgroupShuffleUp", dtype, a, &format!("{by}u"));
                format!("select({a}, {there}, lane >= {by}u)")
            }
            SubgroupOp::Broadcast(lane) => self.shuffle("subgroupShuffle", dtype, a, &format!("{lane}u")),
            SubgroupOp::Reduce(op) => {
                let op = match (op, dtype) {
                    (ReduceOp::Max, DType::Bool) => BinaryOp::Or,
                    (ReduceOp::Min, DType::Bool) => BinaryOp::And,
                    (ReduceOp::Sum, _) => BinaryOp::Add,
                    (ReduceOp::Prod, _) => BinaryOp::Mul,
                    (ReduceOp::Max, _) => BinaryOp::Max,
                    (ReduceOp::Min, _) => BinaryOp::Min,
                };
                // A butterfly: every thread adds in the same order, whatever the device's own reduction does.
                let name = v(value);
                let mut last = a.to_owned();
                let mut step = size / 2;
                while step > 0 {
                    let there = self.shuffle("subgroupShuffleXor", dtype, &last, &format!("{step}u"));
                    self.line(format!("let {name}_from_{step} = {there};"));
                    // Commutative, so all threads come to the same bits.
                    let sum = self.binary(op, dtype, &last, &format!("{name}_from_{step}"))?;
                    self.line(format!("let {name}_{step} = {sum};"));
                    last = format!("{name}_{step}");
                    step /= 2;
                }
                last
            }
        })
    }
}
