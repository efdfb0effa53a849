//! Matrix fragments: what is common to the dialects that have them.

use super::{FragmentMemory, Writer};
use crate::{Fragment, FragmentRole, Op, Place, RenderError, Value};

impl Writer<'_> {
    /// The type of a fragment; refuses where the target has no such operation.
    pub(super) fn fragment_type(&mut self, value: Value, fragment: Fragment) -> String {
        if !self.target.fragments.contains(&fragment.shape) {
            let shape = fragment.shape;
            let cause = format!("a matrix fragment {}x{}x{} of {}", shape.m, shape.n, shape.k, shape.input);
            self.refuse(Some(value), cause, "multiply with fma, or choose a shape of `Target::fragments`");
            return String::new();
        }
        let Some(fragments) = &self.language.fragments else {
            self.refuse(Some(value), "matrix fragments", "multiply with fma");
            return String::new();
        };
        match (fragments.declare)(self, value, fragment) {
            Ok(name) => name,
            Err(error) => {
                self.error.get_or_insert(error);
                String::new()
            }
        }
    }

    fn fragment_memory(&self, place: Place, index: Value, stride: Value, transposed: bool) -> FragmentMemory {
        FragmentMemory {
            pointer: format!("{} + {}", self.pointer(place), self.offset(place, index)),
            shared: matches!(place, Place::Shared(_)),
            stride: self.value(stride),
            transposed,
        }
    }

    pub(super) fn fragment_instruction(&mut self, value: Value) {
        let program = self.program;
        let inst = &program.insts[value.index()];
        let ty = self.type_name(value, inst.ty);
        let (crate::Type::Fragment(fragment), Some(fragments)) = (inst.ty, &self.language.fragments) else {
            return self.refuse(Some(value), "a fragment that is none", "validate the program first");
        };
        let name = format!("v{}", value.0);
        self.line(&format!("{ty} {name};"));
        let text = match &inst.op {
            Op::FragmentFill(x) => {
                let x = self.value(*x);
                (fragments.fill)(self, (value, fragment), &name, &x)
            }
            Op::FragmentLoad { place, index, stride, transposed } => {
                let memory = self.fragment_memory(*place, *index, *stride, *transposed);
                (fragments.load)(self, (value, fragment), &name, &memory)
            }
            Op::FragmentMma(a, b, c) => {
                let (a, b, c) = (self.value(*a), self.value(*b), self.value(*c));
                (fragments.multiply)(self, value, [&name, &a, &b, &c])
            }
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
            | Op::Raw(_) => {
                return self.refuse(Some(value), "an instruction that gives no fragment", "validate the program first");
            }
        };
        self.written(text);
    }

    /// A line, if there are words for it.
    fn written(&mut self, line: Result<String, RenderError>) {
        match line {
            Ok(line) => self.line(&line),
            Err(error) => _ = self.error.get_or_insert(error),
        }
    }

    pub(super) fn fragment_store(&mut self, place: Place, index: Value, stride: Value, value: Value) {
        let (crate::Type::Fragment(fragment), Some(fragments)) = (self.program.ty(value), &self.language.fragments) else {
            return self.refuse(Some(value), "a fragment that is none", "validate the program first");
        };
        if fragment.role != FragmentRole::C {
            self.refuse(Some(value), "a store of a factor's fragment", "store the sum's");
            return;
        }
        let memory = self.fragment_memory(place, index, stride, false);
        let name = self.value(value);
        let text = (fragments.store)(self, (value, fragment), &name, &memory);
        self.written(text);
    }

    /// Whether a factor's fragment was loaded column by column, also where it went through arrays of the thread.
    pub(in crate::render) fn is_transposed(&self, value: Value) -> bool {
        let (mut left, mut arrays) = (vec![value], Vec::new());
        while let Some(value) = left.pop() {
            match self.program.insts[value.index()].op {
                Op::FragmentLoad { transposed, .. } => return transposed,
                Op::Load(Place::Local(at), _) if !arrays.contains(&at) => {
                    arrays.push(at);
                    left.extend(self.stored_to(at).into_iter().rev());
                }
                // What is filled with one number is the same either way, and only sums are computed.
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
                | Op::FragmentMma(..)
                | Op::Raw(_) => {}
            }
        }
        false
    }
}
