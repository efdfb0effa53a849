//! Memory: places, loads and stores of numbers and vectors, atomic operations.

use super::{Vectors, Writer, helpers::unsigned, identifier, param_name, stored};
use crate::{AtomicOp, Param, Place, Stmt, Type, Value, render::each_stmt};
use unigrad_scalar::DType;

impl Writer<'_> {
    /// A pointer to the first element of a place; a variable for an array of length 1.
    pub(super) fn pointer(&self, place: Place) -> String {
        match place {
            Place::Param(at) => param_name(at as usize, &self.program.params[at as usize]),
            Place::Table(at, which) => self.table_entry(at, which),
            Place::Shared(at) => format!("s{at}_{}", identifier(&self.program.shared[at as usize].name)),
            Place::Local(at) => format!("l{at}_{}", identifier(&self.program.locals[at as usize].name)),
        }
    }

    /// The address space of a place, with a blank behind.
    pub(super) fn space(&self, place: Place) -> &'static str {
        match place {
            Place::Param(_) | Place::Table(..) => self.language.spaces.global,
            Place::Shared(_) => self.language.spaces.shared,
            Place::Local(_) => self.language.spaces.private,
        }
    }

    /// An index, as the text adds it to a pointer. Those into buffers are below 2^31 where they are `U32`, and sums on the way to them wrap.
    /// As signed numbers they survive compilers that pull a constant out of a widened unsigned sum (NVRTC 13 does, where ranges tell it that
    /// the sum is not negative, and reads 16 GiB beyond the buffer).
    pub(super) fn offset(&self, place: Place, index: Value) -> String {
        let text = self.value(index);
        let is_wide = matches!(place, Place::Param(_) | Place::Table(..));
        if is_wide && self.program.ty(index) == Type::Scalar(DType::U32) { format!("(i32)({text})") } else { text }
    }

    /// An element of a place, as an lvalue.
    fn element(&self, place: Place, index: Value) -> String {
        match place {
            Place::Local(at) if self.program.locals[at as usize].len == 1 => self.pointer(place),
            Place::Param(_) | Place::Table(..) | Place::Shared(_) | Place::Local(_) => {
                format!("{}[{}]", self.pointer(place), self.offset(place, index))
            }
        }
    }

    /// Whether loads and stores there must see what atomic operations of other threads do, and can.
    fn is_atomic(&self, place: Place, dtype: DType) -> bool {
        let has_words = match dtype.size() {
            4 => true,
            8 => !self.language.compare_exchange[1].is_empty(),
            _ => false,
        };
        match place {
            Place::Param(at) => has_words && matches!(self.program.params[at as usize], Param::Buffer { atomic: true, .. }),
            // No atomics work on tables and the thread's own; those on shared arrays have barriers between them and the rest.
            Place::Table(..) | Place::Shared(_) | Place::Local(_) => false,
        }
    }

    /// The type of elements, and whether the place holds scalars of it.
    fn element_type(&self, place: Place) -> Type {
        self.program.place_type(place).unwrap_or(Type::Scalar(DType::U32))
    }

    /// Whether `Bool` has to become or come from a byte: everywhere but in the thread's own arrays.
    fn is_byte(place: Place, dtype: DType) -> bool {
        dtype == DType::Bool && !matches!(place, Place::Local(_))
    }

    pub(super) fn load(&mut self, value: Value, place: Place, index: Value) -> String {
        let ty = self.program.ty(value);
        match ty {
            Type::Vector(dtype, lanes) if self.element_type(place) != ty => {
                let vector = self.vector_type(dtype, lanes);
                let (pointer, at) = (self.pointer(place), self.offset(place, index));
                format!("*(const {}{vector}*)({pointer} + {at})", self.space(place))
            }
            Type::Scalar(dtype) => {
                if self.is_atomic(place, dtype) {
                    let pointer = format!("{} + {}", self.pointer(place), self.offset(place, index));
                    let word = if dtype.is_float() { unsigned(dtype) } else { dtype };
                    let template = self.language.atomic_load;
                    let text = template.replace("{s}", self.space(place)).replace("{t}", word.name()).replace("{p}", &pointer);
                    return if dtype.is_float() { self.float_of_bits(&text, dtype) } else { text };
                }
                let element = self.element(place, index);
                if Self::is_byte(place, dtype) { format!("{element} != 0") } else { element }
            }
            Type::Vector(..) | Type::Fragment(_) => self.element(place, index),
        }
    }

    pub(super) fn store(&mut self, place: Place, index: Value, value: Value) -> String {
        let (ty, text) = (self.program.ty(value), self.value(value));
        match ty {
            Type::Vector(dtype, lanes) if self.element_type(place) != ty => {
                let vector = self.vector_type(dtype, lanes);
                let (pointer, at) = (self.pointer(place), self.offset(place, index));
                format!("*({}{vector}*)({pointer} + {at}) = {text};", self.space(place))
            }
            Type::Scalar(dtype) => {
                let text = if Self::is_byte(place, dtype) { format!("(u8)({text})") } else { text };
                if self.is_atomic(place, dtype) {
                    let pointer = format!("{} + {}", self.pointer(place), self.offset(place, index));
                    let word = if dtype.is_float() { unsigned(dtype) } else { dtype };
                    let text = if dtype.is_float() { self.bits(&text, dtype) } else { text };
                    let template = self.language.atomic_store;
                    let stored = template.replace("{s}", self.space(place)).replace("{t}", word.name());
                    return format!("{};", stored.replace("{p}", &pointer).replace("{v}", &text));
                }
                format!("{} = {text};", self.element(place, index))
            }
            Type::Vector(..) | Type::Fragment(_) => format!("{} = {text};", self.element(place, index)),
        }
    }

    // --- vectors

    /// The name of a vector type; declares it at first use.
    pub(super) fn vector_type(&mut self, dtype: DType, lanes: u8) -> String {
        let scalar = stored(dtype);
        match self.language.vectors {
            Vectors::Native => {
                let native = self.language.types.iter().find(|(d, _)| d.name() == scalar).map_or(scalar, |(_, native)| *native);
                format!("{native}{lanes}")
            }
            Vectors::Struct { align, array } => {
                let name = format!("{scalar}x{lanes}");
                let bytes = (dtype.size() * usize::from(lanes)).to_string();
                let align = align.replace("{i}", &bytes);
                let array = array.replace("{t}", scalar).replace("{n}", &lanes.to_string()).replace("{i}", &bytes);
                self.prelude(&name, format!("struct {align} {name} {{ {array}; }};\n"));
                name
            }
        }
    }

    fn vector(&self, ty: &str, parts: &[String]) -> String {
        match self.language.vectors {
            Vectors::Native => format!("({ty})({})", parts.join(", ")),
            Vectors::Struct { .. } => format!("{{{{{}}}}}", parts.join(", ")),
        }
    }

    fn part(&self, vector: &str, lane: u8) -> String {
        match self.language.vectors {
            Vectors::Native => format!("{vector}.s{lane}"),
            Vectors::Struct { .. } => format!("{vector}.v[{lane}]"),
        }
    }

    pub(super) fn compose(&mut self, ty: Type, values: &[Value]) -> String {
        let dtype = ty.dtype();
        let name = self.vector_type(dtype, values.len() as u8);
        let part = |text: String| if dtype == DType::Bool { format!("(u8)({text})") } else { text };
        let parts: Vec<String> = values.iter().map(|v| part(self.value(*v))).collect();
        self.vector(&name, &parts)
    }

    pub(super) fn extract(&mut self, vector: Value, lane: u8) -> String {
        let text = self.part(&self.value(vector), lane);
        if self.program.ty(vector).dtype() == DType::Bool { format!("{text} != 0") } else { text }
    }

    // --- atomic operations

    /// A template of the table, filled in, for 32 or 64 bits.
    fn atomic_text(&mut self, at: Value, templates: [&'static str; 2], place: Place, dtype: DType) -> Option<String> {
        let template = match templates[usize::from(dtype.size() == 8)] {
            "=" => templates[0],
            other => other,
        };
        if template.is_empty() || dtype.size() < 4 {
            self.refuse(Some(at), format!("an atomic operation on {dtype}"), "use u32 or i32, or sort and reduce instead");
            return None;
        }
        if dtype.size() == 8 {
            self.header(self.language.atomic_64_header);
        }
        let mut text = template.replace("{s}", self.space(place)).replace("{t}", dtype.name());
        if text.contains("$cas") {
            let space = self.space(place).trim();
            let name = if space.is_empty() { "cas".to_owned() } else { format!("cas_{space}") };
            text = text.replace("$cas", &self.function(&name, dtype));
        }
        Some(text)
    }

    pub(super) fn atomic(&mut self, at: Value, op: AtomicOp, place: Place, index: Value, by: Value) -> String {
        let dtype = self.program.ty(by).dtype();
        let (pointer, by) = (format!("{} + {}", self.pointer(place), self.offset(place, index)), self.value(by));
        if dtype.is_float() && op != AtomicOp::Exchange {
            if (op, dtype) != (AtomicOp::Add, DType::F32) {
                self.refuse(Some(at), format!("an atomic {op:?} of {dtype}"), "add f32, or sort and reduce instead");
            }
            return self.atomic_add_f32(at, place, &pointer, &by);
        }
        // Only the order of numbers depends on the sign.
        let worked = if matches!(op, AtomicOp::Max | AtomicOp::Min) { dtype } else { unsigned(dtype) };
        let templates = self.language.atomics.iter().find(|(o, ..)| *o == op).map_or(["", ""], |(_, narrow, wide)| [*narrow, *wide]);
        let (by, is_float) = (if dtype.is_float() { self.bits(&by, dtype) } else { by }, dtype.is_float());
        let Some(text) = self.atomic_text(at, templates, place, worked) else { return String::new() };
        let by = if worked == dtype || is_float { by } else { format!("({}){by}", worked.name()) };
        let text = text.replace("{p}", &pointer).replace("{v}", &by);
        if is_float {
            self.float_of_bits(&text, dtype)
        } else if worked == dtype {
            text
        } else {
            format!("({}){text}", dtype.name())
        }
    }

    fn atomic_add_f32(&mut self, at: Value, place: Place, pointer: &str, by: &str) -> String {
        let space = self.space(place);
        let native = self.language.atomic_add_f32;
        if !native.is_empty() {
            return native.replace("{s}", space).replace("{t}", "f32").replace("{p}", pointer).replace("{v}", by);
        }
        let name = format!("ug_atomic_add_f32_{}", identifier(space.trim()));
        if !self.has_prelude(&name) {
            let Some(exchange) = self.atomic_text(at, self.language.compare_exchange, place, DType::U32) else { return String::new() };
            let exchange = exchange.replace("{p}", "p").replace("{e}", "seen").replace("{v}", "next");
            let load = self.language.atomic_load.replace("{s}", space).replace("{t}", "u32").replace("{p}", "p");
            let (bits, sum) = (self.bits("sum", DType::F32), self.float_of_bits("old", DType::F32));
            let text = format!(
                "{} f32 {name}(volatile {space}u32* p, f32 x) {{
    u32 old = {load}, seen;
    do {{
        seen = old;
        const f32 sum = {sum} + x;
        const u32 next = {bits};
        old = {exchange};
    }} while (old != seen);
    return {sum};
}}
",
                self.language.function
            );
            self.prelude(&name, text);
        }
        format!("{name}((volatile {space}u32*)({pointer}), {by})")
    }

    pub(super) fn compare_exchange(&mut self, at: Value, place: Place, index: Value, expected: Value, new: Value) -> String {
        let dtype = self.program.ty(new).dtype();
        let worked = unsigned(dtype);
        let Some(text) = self.atomic_text(at, self.language.compare_exchange, place, worked) else { return String::new() };
        let pointer = format!("{} + {}", self.pointer(place), self.offset(place, index));
        let mut word = |value: Value| {
            let text = self.value(value);
            if dtype.is_float() {
                self.bits(&text, dtype)
            } else if worked == dtype {
                text
            } else {
                format!("({}){text}", worked.name())
            }
        };
        let (expected, new) = (word(expected), word(new));
        let text = text.replace("{p}", &pointer).replace("{e}", &expected).replace("{v}", &new);
        if dtype.is_float() {
            self.float_of_bits(&text, dtype)
        } else if worked == dtype {
            text
        } else {
            format!("({}){text}", dtype.name())
        }
    }

    /// The values that are stored to a local array, in order.
    pub(super) fn stored_to(&self, local: u32) -> Vec<Value> {
        let mut values = Vec::new();
        each_stmt(&self.program.body, &mut |stmt| {
            if let Stmt::Store { place: Place::Local(at), value, .. } = stmt
                && *at == local
            {
                values.push(*value);
            }
        });
        values
    }
}
