//! What the threads of a subgroup do together: shuffles of 32-bit words, and reductions as trees of them.
//!
//! Always: a reduction's tree is the same for every thread and every run.

use super::Writer;
use crate::{SubgroupOp, Value};
use unigrad_scalar::{BinaryOp, DType, ReduceOp};

impl Writer<'_> {
    /// Threads of a subgroup; refuses where that is not known.
    fn subgroup_size(&mut self, at: Value) -> u32 {
        if self.target.subgroup.is_none() || self.language.shuffles.is_none() {
            self.refuse(Some(at), "an operation of a subgroup, whose size is not known", "reduce through shared memory");
        }
        self.header(self.language.subgroup_header);
        self.target.subgroup.unwrap_or(1)
    }

    pub(super) fn lane(&mut self, at: Value) -> String {
        let size = self.subgroup_size(at);
        let axis = |a: usize| self.language.thread.replace("{a}", self.language.axes[a]);
        let [x, y, _] = self.program.block;
        let linear = match self.program.block {
            [_, 1, 1] => axis(0),
            [_, _, 1] => format!("({} + {x}u * {})", axis(0), axis(1)),
            _ => format!("({} + {x}u * ({} + {y}u * {}))", axis(0), axis(1), axis(2)),
        };
        format!("{linear} % {size}u")
    }

    pub(super) fn subgroup(&mut self, at: Value, op: SubgroupOp, value: Value) -> String {
        let size = self.subgroup_size(at);
        let (dtype, text) = (self.program.ty(value).dtype(), self.value(value));
        let Some(shuffles) = &self.language.shuffles else { return String::new() };
        let lane = format!("({})", self.lane(at));
        match op {
            SubgroupOp::Reduce(reduce) => {
                let name = self.reduction(reduce, dtype, size);
                format!("{name}({text})")
            }
            SubgroupOp::ShuffleXor(n) => self.shuffle("xor", shuffles.xor, dtype, &text, n),
            SubgroupOp::Broadcast(n) => self.shuffle("index", shuffles.index, dtype, &text, n),
            SubgroupOp::ShuffleDown(n) => {
                let call = self.shuffle("down", shuffles.down, dtype, &text, n);
                let moved = self.taken_by_all(at, dtype, &call);
                format!("{lane} + {n}u < {size}u ? {moved} : {text}")
            }
            SubgroupOp::ShuffleUp(n) => {
                let call = self.shuffle("up", shuffles.up, dtype, &text, n);
                let moved = self.taken_by_all(at, dtype, &call);
                format!("{lane} >= {n}u ? {moved} : {text}")
            }
        }
    }

    /// A variable with a shuffle's result: an arm of a conditional would leave out the threads that do not want it.
    fn taken_by_all(&mut self, at: Value, dtype: DType, call: &str) -> String {
        let scalar = if dtype == DType::Bool { "bool" } else { super::stored(dtype) };
        let name = format!("v{}_moved", at.0);
        self.line(&format!("const {scalar} {name} = {call};"));
        name
    }

    /// A call that moves a value of any type, word by word. All threads must evaluate it.
    fn shuffle(&mut self, kind: &str, template: &'static str, dtype: DType, text: &str, n: u32) -> String {
        let scalar = if dtype == DType::Bool { "bool" } else { super::stored(dtype) };
        let name = format!("ug_shuffle_{kind}_{scalar}");
        if !self.has_prelude(&name) {
            let mut word = template.to_owned();
            // Names that begin with another's come first.
            for helper in ["shuffle_xor", "shuffle_down", "shuffle_up", "shuffle", "lane"] {
                let placeholder = format!("${helper}");
                if word.contains(&placeholder) {
                    word = word.replace(&placeholder, &self.function(helper, DType::U32));
                }
            }
            let moved = |v: &str| word.replace("{v}", v).replace("{n}", "n");
            let body = if dtype.size() == 8 {
                let bits = if dtype.is_float() { self.bits("x", dtype) } else { "(u64)x".to_owned() };
                let joined = format!("((u64){} << 32) | (u64){}", moved("(u32)(b >> 32)"), moved("(u32)b"));
                let back = if dtype.is_float() { self.float_of_bits(&joined, dtype) } else { format!("({scalar})({joined})") };
                format!("    const u64 b = {bits};\n    return {back};\n")
            } else if dtype == DType::F32 {
                let bits = self.bits("x", dtype);
                let back = self.float_of_bits(&moved(&bits), dtype);
                format!("    return {back};\n")
            } else if dtype == DType::Bool {
                format!("    return {} != 0;\n", moved("(u32)x"))
            } else {
                format!("    return ({scalar}){};\n", moved("(u32)x"))
            };
            self.prelude(&name, format!("{} {scalar} {name}({scalar} x, u32 n) {{\n{body}}}\n", self.language.function));
        }
        format!("{name}({text}, {n}u)")
    }

    fn reduction(&mut self, reduce: ReduceOp, dtype: DType, size: u32) -> String {
        let scalar = if dtype == DType::Bool { "bool" } else { super::stored(dtype) };
        let name = format!("ug_reduce_{}_{scalar}", reduce.name());
        if self.has_prelude(&name) {
            return name;
        }
        let op = match reduce {
            ReduceOp::Max if dtype == DType::Bool => BinaryOp::Or,
            ReduceOp::Min if dtype == DType::Bool => BinaryOp::And,
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
        };
        let template = self.language.shuffles.as_ref().map_or("", |s| s.xor);
        let mut steps = String::new();
        let mut distance = size / 2;
        while distance > 0 {
            let other = self.shuffle("xor", template, dtype, "x", distance);
            let combined = self.binary_text(None, op, dtype, "x", "y", None);
            steps.push_str(&format!("    y = {other};\n    x = {combined};\n"));
            distance /= 2;
        }
        let text = format!("{} {scalar} {name}({scalar} x) {{\n    {scalar} y;\n{steps}    return x;\n}}\n", self.language.function);
        self.prelude(&name, text);
        name
    }
}
