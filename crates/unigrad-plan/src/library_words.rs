//! What a library of products does inside of a product or a convolution, and where the planner leaves it at that.
//!
//! In: the compiler's graph, a library's words and costs. Out: [`Fusion::spoken`]: products that take in nothing but these words, with what they store;
//! [`Fusion::convolved`]: those that are convolutions which the library is asked for.
//!
//! A product's epilogue takes in whatever reads it in step, which costs nothing in the driver's own kernel. A library knows only some of it, so it
//! loses the product, or leaves the sums, as wide as they are, to a program after it. The rule: from a product on, results are followed as long as a
//! library has words for what is done with them. Where something comes after the last one, be it the product itself, that one is stored, if that takes
//! less than either: halves mostly, which are half as wide as their sums, and what is stored for its own sake. A bias that is computed, as a cast of
//! one, is stored too: a library reads it from memory.
//! Always: by stated costs alone. Never: changes what is computed; a product that the library does not take on after all is the driver's own.

use crate::fuse::Fusion;
use crate::ir::{Id, IrOp, Kind};
use smallvec::SmallVec;
use unigrad_graph::{BinaryOp, Op, UnaryOp};
use unigrad_kernel::{Library, Words};
use unigrad_scalar::Definition;

/// Nodes that are looked at from a product on.
const MOST: usize = 16;

/// What is still to come of `activation(scale * sum + residual + bias)`.
struct Sentence {
    words: Words,
    /// Whether nothing has been done with the sum yet.
    is_new: bool,
    /// Whether only a store may come.
    is_over: bool,
    /// Whether the slope of an activation came last.
    is_sloped: bool,
    /// Whether a bias was added, after which no library has a word for a slope.
    has_bias: bool,
    /// The biases that are not in memory yet.
    rows: SmallVec<[Id; 1]>,
}

/// What is added to sums.
enum Added {
    /// A number for each column, or channel: this node, whether it is in memory or to be stored.
    Row(Id),
    /// As many numbers as there are sums, in memory.
    Matrix,
}

/// What a library says of a product.
struct Spoken {
    /// The last result that there are words for.
    last: Id,
    /// The argument of its activation, if that is stored too.
    before: Option<Id>,
    /// See [`Sentence::rows`].
    rows: SmallVec<[Id; 1]>,
    /// Whether it ends in the slope of an activation.
    is_sloped: bool,
}

impl Fusion<'_> {
    /// Decides which products are left to the library's words.
    pub(crate) fn listen(&mut self, library: &Library, tf32: bool) {
        for product in 0..self.ir.nodes.len() as Id {
            let node = self.ir.node(product);
            let (IrOp::Op(Op::MatMul), [.., m, n]) = (&node.op, node.shape.as_slice()) else { continue };
            let Some(factor) = node.inputs.first().map(|a| self.ir.node(*a)) else { continue };
            let Some(k) = factor.shape.last() else { continue };
            // Sums of halves may be stored as they are added up; what a library gains is a matter of what it multiplies.
            let items = self.ir.numel(product) / (m * n).max(1);
            let sizes = [items, *m, *n, *k];
            let is_convolution = node.inputs.iter().any(|operand| self.is_windowed(*operand));
            let is_plain = !self.is_read_in_step(product);
            let gain = match is_convolution {
                true => library.convolution_gain(factor.dtype, tf32, sizes, is_plain),
                false => library.gain(factor.dtype, tf32, sizes, is_plain),
            };
            if gain <= 0.0 {
                continue;
            }
            if is_convolution {
                self.convolved.insert(product);
            }
            if is_plain {
                continue;
            }
            let Spoken { last, before, rows, is_sloped } = self.spoken_from(product, library.words);
            let mut cost: f64 = rows.iter().map(|row| library.pass(self.bytes_of(*row))).sum();
            // The sum of a gradient, for a bias, would make it on its way, from what it would have to read instead.
            let is_summed = || self.users[last as usize].iter().any(|user| self.ir.kind(*user) == Kind::Reduce);
            let follows = self.is_read_in_step(last) || is_sloped && is_summed();
            let sums = self.ir.numel(product).saturating_mul(node.dtype.compute().size());
            // Without a word, sums that stay near cost next to nothing on their way to the program after them.
            if last == product && sums <= library.near {
                continue;
            }
            if follows {
                // Written for its own sake, it is read once more; else it is written as well.
                let passes = if self.outputs.contains(&last) { 1 } else { 2 };
                let pass = library.pass(self.bytes_of(last).saturating_mul(passes));
                if pass >= library.pass(sums.saturating_mul(2)) {
                    continue;
                }
                cost += pass;
            }
            if cost >= gain {
                continue;
            }
            // What a gradient reads of an activation is its argument, with all that was added to the sum, and not the sum.
            let before = before.filter(|id| *id != product);
            rows.iter().copied().chain(before).for_each(|id| self.marked.insert(id));
            if follows {
                let last = Some(last).filter(|id| *id != product);
                last.into_iter().for_each(|id| self.marked.insert(id));
                self.spoken.insert(product, before.into_iter().chain(last).collect());
            }
        }
    }

    fn bytes_of(&self, id: Id) -> usize {
        self.ir.numel(id).saturating_mul(self.ir.node(id).dtype.size())
    }

    /// Whether an operand is read through windows.
    fn is_windowed(&self, operand: Id) -> bool {
        let mut at = operand;
        while self.ir.kind(at) == Kind::View {
            let node = self.ir.node(at);
            match (&node.op, node.inputs.first()) {
                (IrOp::Op(Op::Window { .. }), _) => return true,
                (_, Some(input)) => at = *input,
                (_, None) => return false,
            }
        }
        false
    }

    /// Whether a product may take in what a cluster computes.
    pub(crate) fn may_take_in(&self, product: Id, mut roots: impl Iterator<Item = Id>) -> bool {
        self.spoken.get(&product).is_none_or(|stored| roots.all(|root| stored.contains(&root)))
    }

    /// What there are words for, from a product on. To compute with halves and with what they are when they are wider is the same; what is stored is
    /// of the product's dtype.
    fn spoken_from(&self, product: Id, words: Words) -> Spoken {
        let mut sentence = Sentence { words, is_new: true, is_over: false, is_sloped: false, has_bias: false, rows: SmallVec::new() };
        let (mut at, mut spoken) = (product, Spoken { last: product, before: None, rows: SmallVec::new(), is_sloped: false });
        let mut before = None;
        for _ in 0..MOST {
            let users = &self.users[at as usize];
            let is_gelu = |id: &&Id| self.ir.node(**id).op == IrOp::Op(Op::Unary(UnaryOp::GeluTanh));
            let alone = users.len() == 1 && !self.outputs.contains(&at);
            // Another reader of an activation's argument wants it in memory.
            let kept = if alone { None } else { users.iter().find(is_gelu).filter(|_| words.before && self.ir.kind(at) == Kind::Map) };
            let next = match (alone.then(|| users[0]), kept) {
                (Some(next), _) | (None, Some(&next)) => next,
                (None, None) => break,
            };
            if self.outputs.contains(&next) && self.ir.kind(next) == Kind::View || !self.says(&mut sentence, at, next, product) {
                break;
            }
            if kept.is_some() {
                before = Some(spoken.last);
            }
            at = next;
            if self.ir.node(at).dtype == self.ir.node(product).dtype {
                spoken = Spoken { last: at, before, rows: sentence.rows.clone(), is_sloped: sentence.is_sloped };
            }
        }
        // A view is nothing to store.
        while self.ir.kind(spoken.last) == Kind::View {
            spoken.last = self.ir.node(spoken.last).inputs[0];
        }
        spoken
    }

    /// Whether there is a word for what `next` does with `at`.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a library has no word for any other op")]
    fn says(&self, sentence: &mut Sentence, at: Id, next: Id, product: Id) -> bool {
        let node = self.ir.node(next);
        let IrOp::Op(op) = &node.op else { return false };
        let of_product = self.ir.node(product).dtype;
        let is_same = node.dtype == of_product || node.dtype == of_product.compute();
        if matches!(op, Op::Reshape) || matches!(op, Op::Cast) && is_same {
            return true;
        }
        if sentence.is_over || node.dtype != self.ir.node(at).dtype {
            return false;
        }
        let was_new = std::mem::replace(&mut sentence.is_new, false);
        let other = || node.inputs.iter().copied().find(|input| *input != at);
        let said = match op {
            Op::Binary(BinaryOp::Add) => match other().and_then(|other| self.added(other, at, product)) {
                Some(Added::Row(row)) => {
                    if !self.is_in_memory(row) {
                        sentence.rows.push(row);
                    }
                    sentence.has_bias = true;
                    std::mem::take(&mut sentence.words.bias)
                }
                Some(Added::Matrix) => std::mem::take(&mut sentence.words.residual),
                None => false,
            },
            Op::Binary(BinaryOp::Mul) if sentence.words.gelu_tanh_slope && !sentence.has_bias && self.is_sloped(next, at, product) => {
                (sentence.is_over, sentence.is_sloped) = (true, true);
                return true;
            }
            Op::Binary(BinaryOp::Mul) => was_new && sentence.words.scale && other().is_some_and(|other| self.is_number(other)),
            Op::Unary(UnaryOp::Relu) => sentence.words.relu,
            Op::Unary(UnaryOp::GeluTanh) => sentence.words.gelu_tanh,
            _ => false,
        };
        sentence.is_over = matches!(op, Op::Unary(_));
        said
    }

    /// What of a library's words `other` is, which is added to `at`; `None` for what would have to be computed element by element.
    fn added(&self, other: Id, at: Id, product: Id) -> Option<Added> {
        // With channels last a convolution's windows are rows, and its channels columns like any product's.
        let windows_are_columns = |operands: &[Id]| operands.get(1).is_some_and(|operand| self.is_windowed(*operand));
        let is_convolution = self.convolved.contains(&product) && windows_are_columns(&self.ir.node(product).inputs);
        let columns = if is_convolution { *self.ir.node(at).shape.get(1)? } else { *self.ir.node(product).shape.last()? };
        let (mut base, mut row) = (other, None);
        while self.ir.kind(base) == Kind::View {
            let node = self.ir.node(base);
            base = *node.inputs.first()?;
            if node.op == IrOp::Op(Op::Expand) && row.is_none() {
                let from = &self.ir.node(base).shape;
                // Channels are the second axis, and come from the last one that is not 1 as well.
                let lead = node.shape.len().checked_sub(from.len())?;
                let along = if is_convolution { 1usize.checked_sub(lead).and_then(|axis| from.get(axis)) } else { from.last() };
                row = Some(self.ir.numel(base) == columns && along == Some(&columns));
            }
        }
        // A row that is computed of something can be stored: it is short.
        let is_computed = self.ir.kind(base) == Kind::Map && !self.ir.node(base).inputs.is_empty();
        match row {
            Some(true) if self.is_in_memory(base) || is_computed => Some(Added::Row(base)),
            None if self.is_in_memory(base) => Some(Added::Matrix),
            Some(_) | None => None,
        }
    }

    /// Whether a product of `at` is that with the slope of GELU at what is in memory, as large as `at`, in the dtype of the matrix product.
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is no step of a formula is none")]
    fn is_sloped(&self, next: Id, at: Id, product: Id) -> bool {
        let step = |id: Id| match &self.ir.node(id).op {
            _ if id == at => Definition::Other,
            _ if let Some(number) = self.ir.constant_of(id) => Definition::Constant(number),
            IrOp::Op(Op::Unary(op)) => Definition::Unary(*op, self.ir.node(id).inputs[0]),
            IrOp::Op(Op::Binary(op)) => Definition::Binary(*op, self.ir.node(id).inputs[0], self.ir.node(id).inputs[1]),
            _ => Definition::Other,
        };
        let Some(arguments) = UnaryOp::GeluTanh.slope(false).and_then(|slope| slope.arguments(next, step)) else { return false };
        let [Some(mut x), _, Some(sum)] = arguments[..] else { return false };
        // As it is in memory: a half that is made wider.
        let dtype = self.ir.node(product).dtype;
        while !self.is_in_memory(x) && matches!(self.ir.node(x).op, IrOp::Op(Op::Reshape | Op::Cast)) {
            x = self.ir.node(x).inputs[0];
        }
        sum == at && self.is_in_memory(x) && self.ir.numel(x) == self.ir.numel(at) && self.ir.node(x).dtype == dtype
    }

    fn is_in_memory(&self, id: Id) -> bool {
        let is_kept = self.marked.contains(&id) || self.outputs.contains(&id);
        is_kept || matches!(self.ir.kind(id), Kind::External | Kind::Heavy | Kind::Reduce)
    }

    /// Whether it is the same number everywhere, and no buffer.
    fn is_number(&self, other: Id) -> bool {
        let mut base = other;
        while self.ir.kind(base) == Kind::View {
            match self.ir.node(base).inputs.first() {
                Some(input) => base = *input,
                None => return false,
            }
        }
        self.ir.constant_of(base).is_some() || matches!(self.ir.node(base).op, IrOp::Scalar(_))
    }

    /// Whether a map reads it in step, which a product's epilogue would take in.
    fn is_read_in_step(&self, id: Id) -> bool {
        let mut stack: SmallVec<[Id; 8]> = self.users[id as usize].iter().copied().collect();
        for _ in 0..MOST {
            let Some(user) = stack.pop() else { return false };
            match (&self.ir.node(user).op, self.ir.kind(user)) {
                (IrOp::Op(Op::Reshape), _) => stack.extend(self.users[user as usize].iter().copied()),
                (_, Kind::Map) if self.ir.numel(user) == self.ir.numel(id) => return true,
                (_, Kind::External | Kind::Map | Kind::View | Kind::Reduce | Kind::Heavy) => {}
            }
        }
        false
    }
}
