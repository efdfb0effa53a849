//! Reading, changing and writing as one step.
//!
//! Always: what WGSL has no atomic for, such as a sum of floats, is a loop of compare and exchange.

use super::{
    Rep, Writer,
    memory::{Form, Store},
    rep, v,
};
use crate::{AtomicOp, Place, RenderError, Value};
use unigrad_scalar::{BinaryOp, DType};

impl Writer<'_> {
    fn atomic_store(&self, place: Place, value: Value) -> Result<Store, RenderError> {
        let store = match place {
            Place::Local(_) => None,
            Place::Param(_) | Place::Table(..) | Place::Shared(_) => Some(self.store_of(place)?),
        };
        store
            .filter(|s| s.form == Form::Atomic)
            .ok_or_else(|| self.error(Some(value), "an atomic operation on something else than 32-bit numbers", "use 32-bit numbers"))
    }

    /// What an [`Op::Atomic`] gives.
    pub(super) fn atomic(&mut self, at: Value, op: AtomicOp, place: Place, index: Value, value: Value) -> Result<String, RenderError> {
        let store = self.atomic_store(place, at)?;
        let (name, position, value) = (self.place_name(place), self.position(place, index), v(value));
        if store.dtype != DType::F32 {
            let function = match op {
                AtomicOp::Add => "atomicAdd",
                AtomicOp::Max => "atomicMax",
                AtomicOp::Min => "atomicMin",
                AtomicOp::And => "atomicAnd",
                AtomicOp::Or => "atomicOr",
                AtomicOp::Xor => "atomicXor",
                AtomicOp::Exchange => "atomicExchange",
            };
            return Ok(format!("{function}(&{name}[{position}], {value})"));
        }
        let (verb, new) = match op {
            AtomicOp::Exchange => return Ok(format!("bitcast<f32>(atomicExchange(&{name}[{position}], bitcast<u32>({value})))")),
            AtomicOp::Add => ("add", super::ops::binary_f32(BinaryOp::Add, "old", "value")),
            AtomicOp::Max => ("max", super::ops::binary_f32(BinaryOp::Max, "old", "value")),
            AtomicOp::Min => ("min", super::ops::binary_f32(BinaryOp::Min, "old", "value")),
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => {
                return Err(self.error(Some(at), "a bitwise atomic operation on floats", "use U32"));
            }
        };
        let function = self.accessor(format!("atomic_{verb}_{name}"), |_| {
            format!(
                "(at: u32, value: f32) -> f32 {{
    var bits = atomicLoad(&{name}[at]);
    loop {{
        let old = bitcast<f32>(bits);
        let met = atomicCompareExchangeWeak(&{name}[at], bits, bitcast<u32>({new}));
        if (met.exchanged) {{
            break;
        }}
        bits = met.old_value;
    }}
    return bitcast<f32>(bits);
}}"
            )
        });
        Ok(format!("{function}({position}, {value})"))
    }

    /// What an [`Op::CompareExchange`] gives.
    pub(super) fn compare_exchange(
        &mut self,
        at: Value,
        place: Place,
        index: Value,
        expected: Value,
        new: Value,
    ) -> Result<String, RenderError> {
        let store = self.atomic_store(place, at)?;
        let (name, position) = (self.place_name(place), self.position(place, index));
        let ty = if rep(store.dtype) == Rep::I32 { "i32" } else { "u32" };
        // WGSL's own may fail for no reason.
        let function = self.accessor(format!("compare_exchange_{name}"), |_| {
            format!(
                "(at: u32, expected: {ty}, value: {ty}) -> {ty} {{
    var old = expected;
    loop {{
        let met = atomicCompareExchangeWeak(&{name}[at], expected, value);
        old = met.old_value;
        if (met.exchanged || old != expected) {{
            break;
        }}
    }}
    return old;
}}"
            )
        });
        if store.dtype == DType::F32 {
            return Ok(format!("bitcast<f32>({function}({position}, bitcast<u32>({}), bitcast<u32>({})))", v(expected), v(new)));
        }
        Ok(format!("{function}({position}, {}, {})", v(expected), v(new)))
    }
}
