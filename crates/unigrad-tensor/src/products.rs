//! Products that are more than one: scaled and added, over named axes, of three elements, of several matrices. The product itself is in `linalg`.

use crate::{Ints, Tensor, axes::resolve_axis, rules::flat};
use unigrad_graph::{DType, ErrorKind, Expr, Literal};

impl Tensor {
    /// `alpha * a @ b + beta * self`.
    #[track_caller]
    pub fn addmm_with(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        if let Some(cast) = crate::autocast::product("addmm_with") {
            return cast.of(self).addmm_with(&cast.factor(a), &cast.factor(b), beta, alpha);
        }
        scaled_sum(&a.matmul(b), alpha, self, beta)
    }

    /// `alpha * a @ b + beta * self`, of batches of matrices.
    #[track_caller]
    pub fn baddbmm(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        if let Some(cast) = crate::autocast::product("baddbmm") {
            return cast.of(self).baddbmm(&cast.factor(a), &cast.factor(b), beta, alpha);
        }
        scaled_sum(&a.matmul(b), alpha, self, beta)
    }

    /// `alpha * matrix @ vector + beta * self`.
    #[track_caller]
    pub fn addmv(&self, matrix: &Tensor, vector: &Tensor, beta: f64, alpha: f64) -> Tensor {
        if let Some(cast) = crate::autocast::product("addmv") {
            return cast.of(self).addmv(&cast.factor(matrix), &cast.factor(vector), beta, alpha);
        }
        scaled_sum(&matrix.matmul(vector), alpha, self, beta)
    }

    /// `alpha * outer(a, b) + beta * self`.
    #[track_caller]
    pub fn addr(&self, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("addr") {
            return cast.of(self).addr(&cast.of(a), &cast.of(b), beta, alpha);
        }
        scaled_sum(&a.outer(b), alpha, self, beta)
    }

    /// The sum of products over axes of both, in the order they are named: `[rest of self.., rest of other..]`.
    #[track_caller]
    pub fn tensordot(&self, other: &Tensor, axes: impl Ints, other_axes: impl Ints) -> Tensor {
        if let Some(cast) = crate::autocast::product("tensordot") {
            return cast.factor(self).tensordot(&cast.factor(other), axes, other_axes);
        }
        let (a, b) = (self.expr(), other.expr());
        let listed = |e: &Expr, axes: Vec<i64>| {
            axes.into_iter().map(|axis| resolve_axis(e, "tensordot", axis)).collect::<Result<Vec<usize>, Expr>>()
        };
        let (mine, theirs) = match (listed(&a, axes.ints().into_vec()), listed(&b, other_axes.ints().into_vec())) {
            (Ok(mine), Ok(theirs)) => (mine, theirs),
            (Err(invalid), _) | (_, Err(invalid)) => return Tensor::from_expr(invalid),
        };
        for e in [&a, &b] {
            if e.error().is_some() {
                return Tensor::from_expr(e.clone());
            }
        }
        let distinct = |axes: &[usize]| axes.iter().enumerate().all(|(i, axis)| !axes[..i].contains(axis));
        let pairs = || mine.iter().map(|i| a.shape()[*i]).zip(theirs.iter().map(|j| b.shape()[*j]));
        let fit = mine.len() == theirs.len() && pairs().all(|(m, n)| m == n || m == 1 || n == 1);
        if !fit || !distinct(&mine) || !distinct(&theirs) {
            let message = format!("axes {mine:?} of {:?} with {theirs:?} of {:?}", a.shape(), b.shape());
            return Tensor::fail(ErrorKind::Shape, "tensordot", message, "pair different axes of equal sizes", &[self, other]);
        }
        // An axis of size 1 stands for as many equal elements as the other has.
        let summed = |e: &Expr, axes: &[usize], is_summed: &dyn Fn((usize, usize)) -> bool| {
            let axes: Vec<i64> = axes.iter().zip(pairs()).filter(|(_, sizes)| is_summed(*sizes)).map(|(axis, _)| *axis as i64).collect();
            if axes.is_empty() { e.clone() } else { Tensor::from_expr(e.clone()).sum_keepdim(axes).cast(e.dtype()).expr() }
        };
        let (a, b) = (summed(&a, &mine, &|(m, n)| n == 1 && m != 1), summed(&b, &theirs, &|(m, n)| m == 1 && n != 1));
        let rest = |e: &Expr, axes: &[usize]| (0..e.rank()).filter(|axis| !axes.contains(axis)).collect::<Vec<_>>();
        let (left, right) = (rest(&a, &mine), rest(&b, &theirs));
        let count = |e: &Expr, axes: &[usize]| axes.iter().map(|axis| e.shape()[*axis]).product::<usize>();
        let shape: Vec<usize> = left.iter().map(|axis| a.shape()[*axis]).chain(right.iter().map(|axis| b.shape()[*axis])).collect();
        let (m, k, n) = (count(&a, &left), count(&a, &mine), count(&b, &right));
        let x = a.permute(&[left, mine].concat()).reshape(&[m, k]);
        let y = b.permute(&[theirs, right].concat()).reshape(&[k, n]);
        Tensor::from_expr(Tensor::from_expr(x).matmul(&Tensor::from_expr(y)).expr().reshape(&shape))
    }

    /// The sum of products over both last axes; with a number, the product with it.
    #[track_caller]
    pub fn inner(&self, other: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::product("inner") {
            return cast.of(self).inner(&cast.of(other));
        }
        if self.rank() == 0 || other.rank() == 0 {
            return self * other;
        }
        self.tensordot(other, -1_i64, -1_i64)
    }

    /// The vector product along an axis of size 3; the other axes broadcast.
    #[track_caller]
    pub fn cross(&self, other: &Tensor, axis: isize) -> Tensor {
        let (a, b) = match crate::promotion::broadcast("cross", &self.expr(), &other.expr()) {
            Ok((a, b)) => (Tensor::from_expr(a), Tensor::from_expr(b)),
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let e = a.expr();
        match resolve_axis(&e, "cross", axis as i64) {
            Ok(at) if e.shape()[at] == 3 => {}
            Ok(at) => {
                let message = format!("axis {axis} of {:?} has {} elements", e.shape(), e.shape()[at]);
                return Tensor::fail(ErrorKind::Shape, "cross", message, "a vector product is of three elements", &[self, other]);
            }
            Err(invalid) => return Tensor::from_expr(invalid),
        }
        // 1 2 0 and 2 0 1.
        a.roll(-1, axis) * b.roll(-2, axis) - a.roll(-2, axis) * b.roll(-1, axis)
    }

    /// `y[.., o] = self[.., i] weight[o, i, j] other[.., j] + bias[o]`.
    #[track_caller]
    pub fn bilinear(&self, other: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        if let Some(cast) = crate::autocast::product("bilinear") {
            return cast.of(self).bilinear(&cast.of(other), &cast.of(weight), cast.maybe(bias).as_ref());
        }
        if weight.is_invalid() || weight.rank() != 3 {
            let message = format!("a weight {:?}", weight.shape());
            let invalid = Tensor::fail(ErrorKind::Shape, "bilinear", message, "it is [out, left, right]", &[weight]);
            return if weight.is_invalid() { weight.clone() } else { invalid };
        }
        let product = Tensor::einsum("...i,oij,...j->...o", &[self, weight, other]);
        match bias {
            Some(bias) => product + bias,
            None => product,
        }
    }

    /// The product of several matrices in the order of least work; the first and the last may be vectors.
    #[track_caller]
    pub fn multi_dot(matrices: &[&Tensor]) -> Tensor {
        if let Some(cast) = crate::autocast::product("multi_dot") {
            return Tensor::multi_dot(&cast.all(matrices).iter().collect::<Vec<_>>());
        }
        let sizes = match chain_sizes(matrices) {
            Ok(sizes) => sizes,
            Err(invalid) => return invalid,
        };
        // Work and best cut of every stretch (Cormen et al., Introduction to Algorithms, 14.2).
        let n = matrices.len();
        let mut work = vec![vec![0.0_f64; n]; n];
        let mut cut = vec![vec![0; n]; n];
        for length in 1..n {
            for i in 0..n - length {
                let j = i + length;
                work[i][j] = f64::INFINITY;
                for k in i..j {
                    let total = work[i][k] + work[k + 1][j] + sizes[i] as f64 * sizes[k + 1] as f64 * sizes[j + 1] as f64;
                    if total < work[i][j] {
                        (work[i][j], cut[i][j]) = (total, k);
                    }
                }
            }
        }
        // Stretches that are cut, and then multiplied on the way back.
        enum Task {
            Of(usize, usize),
            Multiply,
        }
        let (mut tasks, mut done) = (vec![Task::Of(0, n - 1)], Vec::new());
        while let Some(task) = tasks.pop() {
            match task {
                Task::Of(i, j) if i == j => done.push(matrices[i].clone()),
                Task::Of(i, j) => tasks.extend([Task::Multiply, Task::Of(cut[i][j] + 1, j), Task::Of(i, cut[i][j])]),
                Task::Multiply => {
                    if let (Some(right), Some(left)) = (done.pop(), done.pop()) {
                        done.push(left.matmul(&right));
                    }
                }
            }
        }
        match done.pop() {
            Some(product) => product,
            None => Tensor::fail(ErrorKind::Argument, "multi_dot", "no matrices given", "give at least one", &[]),
        }
    }
}

/// `alpha * product + beta * other`; of 0 times `other` nothing, not even its NaN.
#[track_caller]
fn scaled_sum(product: &Tensor, alpha: f64, other: &Tensor, beta: f64) -> Tensor {
    if product.dtype() == DType::Bool && other.dtype() == DType::Bool {
        // Truths stay truths: a factor leaves them, or is 0.
        let truths = |x: &Tensor, factor: f64| if factor == 0.0 { flat("addmm", x, Tensor::zeros_like) } else { x.clone() };
        return truths(product, alpha) + truths(other, beta);
    }
    let product = if alpha == 1.0 { product.clone() } else { product * number(product, alpha) };
    if beta == 0.0 {
        // Its shape counts all the same.
        return product + flat("addmm", other, Tensor::zeros_like);
    }
    product + if beta == 1.0 { other.clone() } else { other * number(other, beta) }
}

/// A factor that leaves integers integers.
fn number(x: &Tensor, value: f64) -> Tensor {
    let e = x.expr();
    let literal = if e.dtype() == DType::Bool { Literal::int(DType::I64, value as i64) } else { Literal::float(e.dtype(), value) };
    Tensor::from_expr(Expr::scalar(literal, &[], e.device()))
}

/// Rows of the first, then columns of each.
#[track_caller]
fn chain_sizes(matrices: &[&Tensor]) -> Result<Vec<usize>, Tensor> {
    let mut sizes = Vec::with_capacity(matrices.len() + 1);
    for (i, matrix) in matrices.iter().enumerate() {
        let shape = matrix.shape();
        match *shape.as_slice() {
            _ if matrix.is_invalid() => return Err((*matrix).clone()),
            [rows, columns] => {
                if i == 0 {
                    sizes.push(rows);
                }
                sizes.push(columns);
            }
            [columns] if i == 0 => sizes.extend([1, columns]),
            [_] if i + 1 == matrices.len() => sizes.push(1),
            _ => {
                let message = format!("matrix {i} is {shape:?}");
                let help = "multiply matrices; the first and the last may be vectors";
                return Err(Tensor::fail(ErrorKind::Shape, "multi_dot", message, help, &[matrix]));
            }
        }
    }
    if sizes.is_empty() {
        return Err(Tensor::fail(ErrorKind::Argument, "multi_dot", "no matrices given", "give at least one", &[]));
    }
    Ok(sizes)
}
