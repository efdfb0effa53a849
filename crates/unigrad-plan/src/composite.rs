use unigrad_graph::{DType, Expr, Op, ReduceOp};

pub(crate) fn decompose(expr: &Expr) -> Option<Expr> {
    let x = expr.input(0)?;
    let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let x = x.cast(wide);
    let shape = x.shape().clone();
    let y = match expr.op() {
        Op::Softmax { axis } => {
            let mask = 1u32 << axis;
            let e = x.sub(&x.reduce(ReduceOp::Max, mask).expand(&shape)).exp();
            e.div(&e.sum(mask).expand(&shape))
        }
        Op::LogSoftmax { axis } => {
            let mask = 1u32 << axis;
            let d = x.sub(&x.reduce(ReduceOp::Max, mask).expand(&shape));
            d.sub(&d.exp().sum(mask).log().expand(&shape))
        }
        Op::Normalize { axes, center, eps_bits } => {
            let rank = shape.len();
            let mask = (rank - axes..rank).fold(0u32, |m, a| m | 1 << a);
            let n = 1.0 / shape[rank - axes..].iter().product::<usize>() as f64;
            let mean = |v: &Expr| { let s = v.sum(mask); let c = s.constant_like(n); s.mul(&c) };
            let d = if *center { x.sub(&mean(&x).expand(&shape)) } else { x.clone() };
            let var = mean(&d.mul(&d));
            let eps = var.constant_like(f64::from_bits(*eps_bits));
            d.mul(&var.add(&eps).rsqrt().expand(&shape))
        }
        _ => return None,
    };
    Some(y.cast(expr.dtype()))
}
