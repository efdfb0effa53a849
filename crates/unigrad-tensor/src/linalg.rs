//! Products of vectors, matrices and batches of them; einsum.

use crate::{Tensor, promotion::promote};
use unigrad_graph::{DType, ErrorKind, Expr, Shape, broadcast_shapes};

#[track_caller]
pub(crate) fn try_matmul(a: &Expr, b: &Expr) -> Result<Expr, Expr> {
    for x in [a, b] {
        if x.error().is_some() {
            return Err(x.clone());
        }
    }
    if a.rank() == 0 || b.rank() == 0 {
        let message = format!("{:?} @ {:?}: a scalar has no inner axis", a.shape(), b.shape());
        return Err(Expr::fail(ErrorKind::Shape, "matmul", message, "multiply with `*`", &[a, b]));
    }
    let dtype = promote(a, b);
    let dtype = if dtype == DType::Bool { DType::I64 } else { dtype };
    if a.rank() == 2 && b.rank() == 2 && a.shape()[1] == b.shape()[0] {
        return Ok(a.cast(dtype).matmul(&b.cast(dtype)));
    }
    let (a_vector, b_vector) = (a.rank() == 1, b.rank() == 1);
    let mut a_shape = a.shape().clone();
    let mut b_shape = b.shape().clone();
    if a_vector {
        a_shape.insert(0, 1);
    }
    if b_vector {
        b_shape.push(1);
    }
    let (a, b) = (a.cast(dtype), b.cast(dtype));
    let a = if a_vector { a.reshape(&a_shape) } else { a };
    let b = if b_vector { b.reshape(&b_shape) } else { b };
    let (ar, br) = (a_shape.len(), b_shape.len());
    if a_shape[ar - 1] != b_shape[br - 2] {
        let message = format!("inner sizes differ: {:?} @ {:?} ({} against {})", a.shape(), b.shape(), a_shape[ar - 1], b_shape[br - 2]);
        let help = format!("the right side needs {} rows", a_shape[ar - 1]);
        return Err(Expr::fail(ErrorKind::Shape, "matmul", message, &help, &[&a, &b]));
    }
    let (m, k, n) = (a_shape[ar - 2], a_shape[ar - 1], b_shape[br - 1]);
    let product = if br == 2 && ar > 2 {
        // One matrix for all batches: one product with all rows.
        let rows: usize = a_shape[..ar - 1].iter().product();
        let mut shape = a_shape.clone();
        shape[ar - 1] = n;
        a.reshape(&[rows, k]).matmul(&b).reshape(&shape)
    } else {
        let Some(batch) = broadcast_shapes(&a_shape[..ar - 2], &b_shape[..br - 2]) else {
            let message = format!("batch sizes of {:?} and {:?} do not broadcast", a.shape(), b.shape());
            let help = "batch sizes match from the last one back, or are 1";
            return Err(Expr::fail(ErrorKind::Shape, "matmul", message, help, &[&a, &b]));
        };
        let with = |rows: usize, columns: usize| -> Shape { batch.iter().copied().chain([rows, columns]).collect() };
        a.expand(&with(m, k)).matmul(&b.expand(&with(k, n)))
    };
    if !(a_vector || b_vector) || product.is_invalid() {
        return Ok(product);
    }
    let mut shape = product.shape().clone();
    if b_vector {
        shape.pop();
    }
    if a_vector {
        shape.remove(shape.len() - usize::from(!b_vector) - 1);
    }
    Ok(product.reshape(&shape))
}

impl Tensor {
    /// Matrix product `[.., m, k] @ [.., k, n]`; batch axes broadcast, a vector is a row on the left and a column on the right.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::product("matmul") {
            return cast.factor(self).matmul(&cast.factor(other));
        }
        let (a, b) = (self.expr(), other.expr());
        Tensor::from_result(match crate::autocast::fp8() {
            Some(scope) => crate::float8::matmul(&scope, &a, &b, Expr::clone),
            // Two matrices of one dtype, as mostly; what else is wrong with them, the graph says.
            None if a.rank() == 2 && b.rank() == 2 && a.shape()[1] == b.shape()[0] && a.dtype() == b.dtype() && a.dtype().is_float() => {
                Ok(a.matmul_with(b))
            }
            None => try_matmul(&a, &b),
        })
    }

    /// Inner product of two vectors.
    #[track_caller]
    pub fn dot(&self, other: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::product("dot") {
            return cast.factor(self).dot(&cast.factor(other));
        }
        let (a, b) = (self.expr(), other.expr());
        if a.error().is_none() && b.error().is_none() && (a.rank() != 1 || a.shape() != b.shape()) {
            let message = format!("wants two vectors of one length, got {:?} and {:?}", a.shape(), b.shape());
            return Tensor::fail(ErrorKind::Shape, "dot", message, "see `matmul` for matrices", &[self, other]);
        }
        self.matmul(other)
    }

    /// Every element of one vector times every element of the other: `[n, m]`.
    #[track_caller]
    pub fn outer(&self, other: &Tensor) -> Tensor {
        self.reshape([-1, 1]) * other.reshape([1, -1])
    }

    /// `self + a @ b`.
    #[track_caller]
    pub fn addmm(&self, a: &Tensor, b: &Tensor) -> Tensor {
        if let Some(cast) = crate::autocast::product("addmm") {
            return cast.of(self).addmm(&cast.factor(a), &cast.factor(b));
        }
        a.matmul(b) + self
    }

    /// `x @ wᵀ + bias` with w `[out, in]` and bias `[out]`, as PyTorch's `linear`.
    #[track_caller]
    pub fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
        if let Some(cast) = crate::autocast::product("linear") {
            return cast.factor(self).linear(&cast.factor(weight), cast.maybe(bias).as_ref());
        }
        let y = match crate::autocast::fp8() {
            Some(scope) => {
                let turned = |weight: &Expr| Tensor::from_expr(weight.clone()).t().into_expr();
                Tensor::from_result(crate::float8::matmul(&scope, &self.expr(), &weight.expr(), turned))
            }
            None => self.matmul(&weight.t()),
        };
        let Some(bias) = bias.filter(|_| !y.is_invalid()) else { return y };
        let out = weight.size(-2);
        if !bias.is_invalid() && bias.shape() != [out] {
            let message = format!("a bias {:?} for {out} outputs", bias.shape());
            return Tensor::fail(ErrorKind::Shape, "linear", message, "the bias has one element per output: [out]", &[self, weight, bias]);
        }
        y + bias
    }

    /// Sum of the main diagonal of a matrix.
    #[track_caller]
    pub fn trace(&self) -> Tensor {
        let _within = crate::autocast::within();
        self.diagonal(0, -2, -1).sum(-1)
    }

    /// Einstein summation: `Tensor::einsum("bij,bjk->bik", &[&a, &b])`.
    ///
    /// Letters name axes: a letter in several operands multiplies along it, a letter not in the result is summed over, a letter twice in
    /// one operand takes the diagonal, `...` stands for any axes, which broadcast. Without `->`, letters that occur once are the result's,
    /// in alphabetical order. Several operands are contracted from left to right.
    #[track_caller]
    pub fn einsum(spec: &str, operands: &[&Tensor]) -> Tensor {
        if let Some(cast) = crate::autocast::product("einsum") {
            return Tensor::einsum(spec, &cast.all(operands).iter().collect::<Vec<_>>());
        }
        for operand in operands {
            if operand.is_invalid() {
                return (*operand).clone();
            }
        }
        match parse_einsum(spec, operands) {
            Ok((inputs, output)) => run_einsum(inputs, &output),
            Err(message) => {
                let help = "write one group of letters per operand, as in \"ij,jk->ik\"";
                Tensor::fail(ErrorKind::Argument, "einsum", format!("\"{spec}\": {message}"), help, operands)
            }
        }
    }
}

/// An axis's label; those of `...` are beyond all letters.
type Label = u32;

/// The first label of an axis under `...`: no letter.
const DOTS: Label = 0x11_0000;

/// The operands with a label per axis (no label twice in one), and the labels of the result.
type Labelled = (Vec<(Tensor, Vec<Label>)>, Vec<Label>);

fn labels_of(term: &str, rank: Option<usize>, dots: usize) -> Result<Vec<Label>, String> {
    let letters = term.replace("...", "\u{1}");
    if letters.matches('\u{1}').count() > 1 {
        return Err(format!("`{term}` has more than one `...`"));
    }
    let mut labels = Vec::new();
    let count = letters.chars().filter(|c| *c != '\u{1}').count();
    for letter in letters.chars() {
        match letter {
            '\u{1}' => {
                let own = rank.map_or(dots, |rank| rank.saturating_sub(count));
                labels.extend((dots.saturating_sub(own)..dots).map(|i| DOTS + i as Label));
            }
            c if c.is_ascii_alphabetic() => labels.push(c as Label),
            c => return Err(format!("`{c}` is not a letter")),
        }
    }
    match rank {
        Some(rank) if rank != labels.len() => Err(format!("`{term}` names {} axes, the operand has {rank}", labels.len())),
        _ => Ok(labels),
    }
}

#[track_caller]
fn parse_einsum(spec: &str, operands: &[&Tensor]) -> Result<Labelled, String> {
    let spec: String = spec.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(c) = spec.chars().find(|c| c.is_control()) {
        return Err(format!("`{}` is not a letter", c.escape_default()));
    }
    let (left, right) = match spec.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (spec.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != operands.len() || operands.is_empty() {
        return Err(format!("{} groups of letters for {} operands", terms.len(), operands.len()));
    }
    let mut dots = 0;
    for (term, operand) in terms.iter().zip(operands) {
        if term.contains("...") {
            let letters = term.replace("...", "").chars().count();
            if letters > operand.rank() {
                return Err(format!("`{term}` names {letters} axes, the operand has {}", operand.rank()));
            }
            dots = dots.max(operand.rank() - letters);
        }
    }
    let mut sizes = std::collections::BTreeMap::<Label, usize>::new();
    let mut inputs = Vec::new();
    for (term, operand) in terms.iter().zip(operands) {
        let mut labels = labels_of(term, Some(operand.rank()), dots)?;
        let mut tensor = (*operand).clone();
        // A label twice: the diagonal.
        while let Some((first, second)) = repeated(&labels) {
            let shape = tensor.shape();
            if shape[first] != shape[second] {
                return Err(format!("`{term}`: axes of one letter have sizes {} and {}", shape[first], shape[second]));
            }
            tensor = tensor.diagonal(0, first as isize, second as isize);
            if let Some(error) = tensor.error() {
                return Err(error.to_string());
            }
            let label = labels.remove(second);
            labels.remove(first);
            labels.push(label);
        }
        for (label, size) in labels.iter().zip(tensor.shape()) {
            let known = sizes.entry(*label).or_insert(size);
            if *known == 1 {
                *known = size;
            } else if *known != size && size != 1 {
                return Err(format!("an axis of `{term}` has size {size}, elsewhere {known}"));
            }
        }
        inputs.push((tensor, labels));
    }
    let output = match right {
        Some(right) => labels_of(right, None, dots)?,
        None => {
            // As written: a letter twice in one operand is not once.
            let once = |label: &Label| {
                let letter = char::from_u32(*label);
                left.chars().filter(|other| Some(*other) == letter).count() == 1
            };
            let mut free: Vec<Label> = sizes.keys().copied().filter(|label| *label < DOTS && once(label)).collect();
            free.sort_unstable();
            (0..dots).map(|i| DOTS + i as Label).chain(free).collect()
        }
    };
    if let Some((first, _)) = repeated(&output) {
        return Err(format!("letter {} of the result is there twice", first + 1));
    }
    if let Some(missing) = output.iter().find(|label| !sizes.contains_key(label)) {
        return Err(format!("`{}` of the result is in no operand", char::from_u32(*missing).unwrap_or('.')));
    }
    Ok((inputs, output))
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|i| (i + 1..labels.len()).find(|j| labels[i] == labels[*j]).map(|j| (i, j)))
}

#[track_caller]
fn run_einsum(inputs: Vec<(Tensor, Vec<Label>)>, output: &[Label]) -> Tensor {
    let mut rest: std::collections::VecDeque<_> = inputs.into();
    let Some((mut acc, mut labels)) = rest.pop_front() else {
        return Tensor::fail(ErrorKind::Argument, "einsum", "no operands", "give one tensor per group of letters", &[]);
    };
    while let Some((tensor, other)) = rest.pop_front() {
        let wanted = |label: &Label| output.contains(label) || rest.iter().any(|(_, labels)| labels.contains(label));
        (acc, labels) = contract(&acc, &labels, &tensor, &other, &wanted);
    }
    let summed: Vec<usize> = (0..labels.len()).filter(|axis| !output.contains(&labels[*axis])).collect();
    if !summed.is_empty() {
        acc = acc.sum(&summed);
        labels.retain(|label| output.contains(label));
    }
    let order: Vec<usize> = output.iter().filter_map(|label| labels.iter().position(|own| own == label)).collect();
    acc.permute(&order)
}

/// Multiplies two labelled tensors and sums over the labels that are not wanted any more.
#[track_caller]
fn contract(a: &Tensor, a_labels: &[Label], b: &Tensor, b_labels: &[Label], wanted: &dyn Fn(&Label) -> bool) -> (Tensor, Vec<Label>) {
    let (a, a_labels) = sum_private(a, a_labels, b_labels, wanted);
    let (b, b_labels) = sum_private(b, b_labels, &a_labels, wanted);
    let shared: Vec<Label> = a_labels.iter().copied().filter(|label| b_labels.contains(label)).collect();
    let batch: Vec<Label> = shared.iter().copied().filter(|label| wanted(label)).collect();
    let inner: Vec<Label> = shared.iter().copied().filter(|label| !wanted(label)).collect();
    let rows: Vec<Label> = a_labels.iter().copied().filter(|label| !shared.contains(label)).collect();
    let columns: Vec<Label> = b_labels.iter().copied().filter(|label| !shared.contains(label)).collect();
    let size = |label: &Label| {
        let of =
            |tensor: &Tensor, labels: &[Label]| labels.iter().position(|own| own == label).map_or(1, |axis| tensor.size(axis as isize));
        // A size of 1 broadcasts, also to 0.
        match (of(&a, &a_labels), of(&b, &b_labels)) {
            (1, other) | (other, _) => other,
        }
    };
    let arrange = |tensor: &Tensor, own: &[Label], groups: [&[Label]; 3], merged: [usize; 3]| {
        let order: Vec<Label> = groups.concat();
        let perm: Vec<usize> = order.iter().filter_map(|label| own.iter().position(|l| l == label)).collect();
        let shape: Vec<usize> = order.iter().map(size).collect();
        let [x, y, z] = merged;
        tensor.permute(&perm).expand(&shape).reshape_to(&[x, y, z])
    };
    let product = |labels: &[Label]| labels.iter().map(size).product::<usize>();
    let (nb, nr, ni, nc) = (product(&batch), product(&rows), product(&inner), product(&columns));
    let left = arrange(&a, &a_labels, [&batch, &rows, &inner], [nb, nr, ni]);
    let right = arrange(&b, &b_labels, [&batch, &inner, &columns], [nb, ni, nc]);
    let result: Vec<Label> = [batch, rows, columns].concat();
    let shape: Vec<usize> = result.iter().map(size).collect();
    // Nothing to sum: a product of elements fuses where a matrix product would not.
    let out = if inner.is_empty() { left * right } else { left.matmul(&right) };
    (out.reshape_to(&shape), result)
}

/// Sums over labels that only this operand has and that are not wanted.
#[track_caller]
fn sum_private(x: &Tensor, labels: &[Label], other: &[Label], wanted: &dyn Fn(&Label) -> bool) -> (Tensor, Vec<Label>) {
    let gone: Vec<usize> = (0..labels.len()).filter(|axis| !other.contains(&labels[*axis]) && !wanted(&labels[*axis])).collect();
    if gone.is_empty() {
        return (x.clone(), labels.to_vec());
    }
    let kept = labels.iter().enumerate().filter(|(axis, _)| !gone.contains(axis)).map(|(_, label)| *label).collect();
    (x.sum(&gone), kept)
}
