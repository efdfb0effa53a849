//! Functions of one number that WGSL's library has no text for, written from their formulas.
//!
//! In: a name such as `digamma_f32`. Out: the function's text, or `None` for a name that is no such function.

use super::Writer;
use crate::RenderError;
use unigrad_scalar::{DType, Formula, Literal, Term, UnaryOp};

impl Writer<'_> {
    pub(super) fn composed(&self, name: &str) -> Option<Result<String, RenderError>> {
        let (function, dtype) =
            name.strip_suffix("_f32").map(|f| (f, DType::F32)).or(name.strip_suffix("_f64").map(|f| (f, DType::F64)))?;
        let op = UnaryOp::ALL.iter().find(|op| op.name() == function)?;
        Some(self.composition(name, op.form(dtype == DType::F64)?, dtype))
    }

    fn composition(&self, name: &str, formula: &Formula, dtype: DType) -> Result<String, RenderError> {
        let of = |at: usize| if at == 0 { "x".to_owned() } else { format!("t{at}") };
        let ty = self.scalar_type(dtype);
        let mut text = format!("fn {name}(x: {ty}) -> {ty} {{\n");
        for (at, term) in formula.terms().iter().enumerate() {
            let value = match *term {
                Term::Input(_) => continue,
                Term::Constant(value) => self.literal(Literal::float(dtype, value)),
                Term::Unary(op, a) => self.unary(op, dtype, &of(a))?,
                Term::Binary(op, a, b) => {
                    let operands = if formula.is_truth(a) { DType::Bool } else { dtype };
                    self.binary(op, operands, &of(a), &of(b))?
                }
                Term::Select(condition, yes, no) => format!("select({}, {}, {})", of(no), of(yes), of(condition)),
            };
            text += &format!("    let {} = {value};\n", of(at));
        }
        Ok(text + &format!("    return {};\n}}", of(formula.terms().len() - 1)))
    }
}
