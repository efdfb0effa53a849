//! Matrix fragments, as naga's `wgpu_cooperative_matrix` has them: square, of 8 or 16 rows, of `f16` and `f32`.
//!
//! Always: memory that fragments are loaded from has their element type, in vectors of four where every other access allows it; an array
//! of fragments is a variable for each, since registers have no addresses.
//! Never: a fragment filled with anything but 0, for which the language has no word.

use super::{Writer, memory::Form, v};
use crate::{Fragment, FragmentRole, Op, Place, RenderError, Type, Value};
use unigrad_scalar::DType;

impl Writer<'_> {
    /// Whether the text needs the extension.
    pub(super) fn has_fragments(&self) -> bool {
        self.program.insts.iter().any(|inst| matches!(inst.ty, Type::Fragment(_)))
    }

    pub(super) fn fragment_type(&self, at: Option<Value>, fragment: Fragment) -> Result<String, RenderError> {
        let shape = fragment.shape;
        let square = shape.m == shape.n && shape.n == shape.k && matches!(shape.m, 8 | 16);
        let is_known = matches!(fragment.dtype(), DType::F16 | DType::F32);
        if !square || !is_known || !self.target.fragments.contains(&shape) {
            let cause = format!("no matrix fragments {}x{}x{} of {} here", shape.m, shape.n, shape.k, fragment.dtype());
            return Err(self.error(at, cause, "multiply with fma, or choose a shape of `Target::fragments`"));
        }
        let role = match fragment.role {
            FragmentRole::A => "A",
            FragmentRole::B => "B",
            FragmentRole::C => "C",
        };
        Ok(format!("coop_mat{0}x{0}<{1}, {role}>", shape.m, fragment.dtype()))
    }

    /// The variable that an element of a local array is: of fragments always, of others where all indices are known.
    pub(super) fn local_variable(&self, place: Place, index: Value) -> Result<Option<String>, RenderError> {
        let Place::Local(local) = place else { return Ok(None) };
        let is_fragment = self.program.locals.get(local as usize).is_some_and(|array| matches!(array.ty, Type::Fragment(_)));
        if !is_fragment && !self.split.get(local as usize).is_some_and(|split| *split) {
            return Ok(None);
        }
        match self.known.get(index) {
            Some(at) => Ok(Some(format!("l{local}_{at}"))),
            None => Err(self.error(Some(index), "an array of fragments by an index that is no constant", "write the loop out")),
        }
    }

    /// Where a fragment begins, and the distance of its rows, in elements of the array that its place is.
    fn fragment_memory(&self, place: Place, index: Value, stride: Value) -> Result<[String; 2], RenderError> {
        let group = match &self.store_of(place)?.form {
            Form::Plain { group } | Form::Halves { group } => *group,
            Form::Atomic | Form::Packed { .. } | Form::PackedAtomic | Form::Short | Form::Word => {
                return Err(self.error(Some(index), "a fragment in memory of another form", "use no atomics on it"));
            }
        };
        let (at, shift) = (self.position(place, index), group.trailing_zeros());
        Ok(match shift {
            0 => [at, v(stride)],
            _ => [format!("{at} >> {shift}u"), format!("{} >> {shift}u", v(stride))],
        })
    }

    /// What an instruction on fragments gives.
    pub(super) fn fragment(&self, value: Value) -> Result<String, RenderError> {
        let inst = &self.program.insts[value.index()];
        let Type::Fragment(fragment) = inst.ty else {
            return Err(self.error(Some(value), "a fragment of another type", "validate the program first"));
        };
        let ty = self.fragment_type(Some(value), fragment)?;
        Ok(match &inst.op {
            Op::FragmentFill(x) => {
                if !matches!(self.program.insts[x.index()].op, Op::Const(literal) if literal.to_raw() == 0) {
                    return Err(self.error(Some(value), "a fragment filled with something else than 0", "load it from memory"));
                }
                format!("{ty}()")
            }
            // The name that ends with T is row by row.
            Op::FragmentLoad { place, index, stride, transposed } => {
                let function = if *transposed { "coopLoad" } else { "coopLoadT" };
                let [at, stride] = self.fragment_memory(*place, *index, *stride)?;
                format!("{function}<{ty}>(&{}[{at}], {stride})", self.place_name(*place))
            }
            Op::FragmentMma(a, b, c) => format!("coopMultiplyAdd({}, {}, {})", v(*a), v(*b), v(*c)),
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
            | Op::Raw(_) => return Err(self.error(Some(value), "an instruction that gives no fragment", "validate the program first")),
        })
    }

    /// A [`crate::Stmt::FragmentStore`].
    pub(super) fn store_fragment(&mut self, place: Place, [index, stride, value]: [Value; 3]) -> Result<(), RenderError> {
        let [at, stride] = self.fragment_memory(place, index, stride)?;
        // naga 30 writes no SPIR-V for expressions that stand in this statement itself.
        self.line(format!(
            "{{ let at = {at}; let stride = {stride}; coopStoreT({}, &{}[at], stride); }}",
            v(value),
            self.place_name(place)
        ));
        Ok(())
    }
}
