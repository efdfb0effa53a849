//! Both passes in a device's own words, where it has matrix instructions for them: [`native::attention`].

use super::{Context, Inputs, aligned};
use crate::lower::distribute::{Line, Operand, mul_const_add};
use crate::lower::native::attention::{self as native, Backward, Element, Forward, Pages, Scores};
use crate::lower::native::hopper_gradients::{self as hopper, OnePass};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Target, Value};
use unigrad_kernel::{Attention, AttentionGrad};
use unigrad_scalar::{BinaryOp, DType};

/// Queries of a head from which a block of them pays.
const MANY: usize = 48;

/// What is multiplied, if the forward pass suits, and what the gradient shares with it. Copies are 16 bytes long, stores 2 elements.
fn suits(context: &Context<'_>, target: &Target) -> Option<Element> {
    let kernel = context.kernel;
    let element = Element::of(kernel.dtype, kernel.tf32)?;
    let suits = (kernel.qk_dim == 64 || kernel.qk_dim == 128)
        && kernel.v_dim == kernel.qk_dim
        && kernel.q_len >= MANY
        && kernel.bias.is_none()
        && (kernel.pages.is_none() || kernel.spec.positions.is_tensor())
        && kernel.spec.dropout.is_none()
        && f64::from_bits(kernel.spec.scale_bits) > 0.0
        && native::available(target, element, kernel.qk_dim)
        && [&kernel.q, &kernel.k, &kernel.v].into_iter().all(|layout| aligned(layout, element.copied()));
    suits.then_some(element)
}

fn scores(kernel: &Attention, element: Element) -> Scores {
    Scores {
        element,
        features: kernel.qk_dim as u32,
        q_len: kernel.q_len,
        scale: f64::from_bits(kernel.spec.scale_bits),
        causal: kernel.spec.causal,
        window: kernel.spec.window.map(super::window_of),
    }
}

/// A workgroup's block of rows, its head and batch; blocks of later rows first if `reversed`.
fn item(b: &mut Builder, group: Value, items: usize, [heads, batch]: [usize; 2], rows: u32, reversed: bool) -> [Value; 3] {
    let last = b.u32(items as u32 - 1);
    let item = if reversed { b.sub(last, group) } else { group };
    let (rest, head) = (b.div_const(item, heads as i64), b.rem_const(item, heads as i64));
    let (block, batch) = (b.div_const(rest, batch as i64), b.rem_const(rest, batch as i64));
    let first = b.mul_const(block, rows.into());
    [b.cast(first, DType::I32), head, batch]
}

/// The end of a block of rows.
fn end(b: &mut Builder, first: Value, rows: u32, most: Value) -> Value {
    let end = b.add_const(first, rows.into());
    b.binary(BinaryOp::Min, end, most)
}

/// The launch, if the kernel suits.
pub(super) fn forward(context: &Context<'_>, target: &Target) -> Result<Option<ProgramLaunch>, Unsupported> {
    let kernel = context.kernel;
    let Some(element) = suits(context, target).filter(|_| aligned(&kernel.out, 2)) else { return Ok(None) };
    let features = kernel.qk_dim;
    let pages = kernel.pages.map(|pages| {
        let (size, count) = (pages.size.max(1), pages.count.max(1));
        Pages { size, count, per_sequence: (kernel.k_len / size).max(1), strides: [kernel.k, kernel.v].map(|layout| layout.strides[0]) }
    });
    let strides = [kernel.q, kernel.k, kernel.v, kernel.out].map(|layout| layout.strides[2]);
    let inner = Forward { scores: scores(kernel, element), strides, pages };
    let items = kernel.batch * kernel.heads * kernel.q_len.div_ceil(native::QUERIES as usize);
    let line = Line::new(items, target)?;
    let mut sig = Signature::new("attention_mma", [native::THREADS, 1, 1]);
    sig.made_for(target);
    let parameters = context.open(&mut sig);
    let out = context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true);
    let lse = context.lse(true).open(&mut sig, "lse", true);
    let b = &mut sig.b;
    let shared = b.shared("blocks", DType::U32, native::shared_bytes(element, features as u32) / 4);
    let group = line.group(b);
    let count = b.u32(items as u32);
    let exists = b.lt(group, count);
    b.when(exists, |b| {
        // Later queries see more keys under a causal mask: they start first.
        let [first, head, batch] = item(b, group, items, [kernel.heads, kernel.batch], native::QUERIES, kernel.spec.causal);
        let inputs = context.of_sequence(b, &parameters, batch);
        let kv_head = b.div_const(head, context.group() as i64);
        let most = b.int(DType::I32, kernel.q_len as i64);
        let end = end(b, first, native::QUERIES, most);
        let (from, to) = context.keys_seen(b, &inputs, first, end);
        let [q, y] =
            [(inputs.q, &kernel.q), (out, &kernel.out)].map(|(place, layout)| context.side(b, place, layout, features, batch, head).base);
        let [k, v] = [(inputs.k, &kernel.k), (inputs.v, &kernel.v)]
            .map(|(place, layout)| context.key_side(b, &inputs, place, layout, features, batch, kv_head).base);
        let zero = b.int(DType::I32, 0);
        let logs = context.row_number(b, batch, head, zero);
        let table = inputs.row.filter(|_| inner.pages.is_some());
        let values = [q, k, v, y, logs, first, from, to, inputs.q_offset];
        b.raw(inner.statement(values, [inputs.q, inputs.k, inputs.v, out, lse, shared], table));
    });
    Ok(Some(sig.finish(line.grid)))
}

/// The two launches after the one that makes `delta`, if the kernel suits.
pub(super) fn backward(
    context: &Context<'_>,
    kernel: &AttentionGrad,
    delta: Operand,
    target: &Target,
) -> Result<Option<[ProgramLaunch; 2]>, Unsupported> {
    let Some(element) = suits_backward(context, kernel, target) else { return Ok(None) };
    let passes = [false, true].map(|by_key| Pass { context, kernel, element, delta, by_key });
    if passes.iter().any(|pass| pass.inner().shared_bytes() as usize > target.shared_bytes) {
        return Ok(None);
    }
    let [queries, keys] = passes;
    Ok(Some([queries.step(target)?, keys.step(target)?]))
}

fn suits_backward(context: &Context<'_>, kernel: &AttentionGrad, target: &Target) -> Option<Element> {
    let outputs = [&kernel.dq, &kernel.dk, &kernel.dv];
    suits(context, target).filter(|element| {
        context.kernel.k_len >= MANY && aligned(&kernel.dout, element.copied()) && outputs.into_iter().all(|layout| aligned(layout, 2))
    })
}

/// The gradients in one pass, where warpgroups multiply and what they have of a block of keys is not mostly idle.
pub(super) struct InOnePass {
    inner: OnePass,
    /// Blocks of queries of all heads.
    blocks: usize,
}

impl InOnePass {
    pub(super) fn new(context: &Context<'_>, kernel: &AttentionGrad, target: &Target) -> Option<InOnePass> {
        let forward = context.kernel;
        // Of halves alone.
        let element = suits_backward(context, kernel, target).filter(|element| *element != Element::TF32)?;
        let suits = hopper::available(target, forward.qk_dim as u32)
            && 2 * forward.k_len > hopper::KEYS as usize
            // Which workgroups meet a block of queries follows from its first and its last query: each sees itself at least.
            && forward.spec.window != Some(0);
        let inner = OnePass { by_key: inner(context, kernel, element, true), dq: [kernel.dq.strides[1], kernel.dq.strides[2]] };
        suits.then(|| InOnePass { blocks: forward.batch * forward.heads * inner.blocks(), inner })
    }

    /// How many turns there are, and sums: `U32` and `F32`.
    pub(super) fn scratch(&self) -> [usize; 2] {
        let of_block = hopper::queries(self.inner.by_key.scores.features) * self.inner.by_key.scores.features;
        [self.blocks, self.blocks * of_block as usize]
    }

    /// The launch after the one that makes `delta`, and sets all turns to 0.
    pub(super) fn step(
        &self,
        context: &Context<'_>,
        kernel: &AttentionGrad,
        [delta, turns, sums]: [Operand; 3],
        target: &Target,
    ) -> Result<ProgramLaunch, Unsupported> {
        let forward = context.kernel;
        let blocks = forward.k_len.div_ceil(hopper::KEYS as usize);
        let lines = forward.batch * forward.kv_heads;
        let items = lines * blocks;
        let line = Line::new(items, target)?;
        let mut sig = Signature::new("attention_grad_wgmma", [hopper::THREADS, 1, 1]);
        sig.b.at_once(1);
        sig.made_for(target);
        let parameters = context.open(&mut sig);
        let lse = context.lse(false).open(&mut sig, "lse", false);
        let dout = context.input(context.n_inputs + 2, kernel.dout_buffer).open(&mut sig, "dy", false);
        let delta = delta.open(&mut sig, "delta", false);
        let (turns, sums) = (turns.open(&mut sig, "turns", true), sums.open(&mut sig, "sums", true));
        let [dq, dk, dv] = [("dq", 0), ("dk", 1), ("dv", 2)]
            .map(|(name, at)| context.output(context.n_inputs + 3 + at, kernel.grad_buffers[at]).open(&mut sig, name, true));
        let b = &mut sig.b;
        let shared = b.shared("blocks", DType::U32, hopper::shared_bytes(forward.qk_dim as u32) / 4);
        let group = line.group(b);
        let count = b.u32(items as u32);
        let exists = b.lt(group, count);
        b.when(exists, |b| {
            let (of, block) = self.place(b, group, (lines, blocks), target);
            let first = b.mul_const(block, hopper::KEYS.into());
            let first = b.cast(first, DType::I32);
            let (batch, head) = (b.div_const(of, forward.kv_heads as i64), b.rem_const(of, forward.kv_heads as i64));
            let inputs = context.of_sequence(b, &parameters, batch);
            let q_head = b.mul_const(head, context.group() as i64);
            let (from, to) = queries_of(context, b, &inputs, first, hopper::KEYS);
            let tensors = [
                (inputs.k, &forward.k, head),
                (inputs.v, &forward.v, head),
                (inputs.q, &forward.q, q_head),
                (dout, &kernel.dout, q_head),
                (dk, &kernel.dk, head),
                (dv, &kernel.dv, head),
                (dq, &kernel.dq, q_head),
            ];
            let features = forward.qk_dim;
            let [k, v, q, of_dout, of_dk, of_dv, of_dq] =
                tensors.map(|(place, layout, head)| context.side(b, place, layout, features, batch, head).base);
            let zero = b.int(DType::I32, 0);
            let logs = context.row_number(b, batch, q_head, zero);
            let line = mul_const_add(b, batch, forward.heads as i64, q_head);
            b.raw(self.inner.statement(
                [k, v, q, of_dout, of_dk, of_dv, logs, first, from, to, inputs.q_offset, inputs.kv_len, of_dq, line],
                [inputs.k, inputs.v, inputs.q, dout, lse, delta, dk, dv, shared, dq, sums, turns],
            ));
        });
        Ok(sig.finish(line.grid))
    }
}

impl InOnePass {
    /// The head of all sequences, and the block of its keys, that a workgroup has. Workgroups begin in the order of the grid, and take turns in that of the
    /// keys, last ones first: so all of some heads' last blocks come first, then all of the ones before.
    fn place(&self, b: &mut Builder, group: Value, (lines, blocks): (usize, usize), target: &Target) -> (Value, Value) {
        let at_once = hopper::heads_at_once(self.inner.by_key.scores.features, blocks, target.compute_units).clamp(1, lines.max(1));
        let last = b.u32(blocks as u32 - 1);
        // Of so many heads side by side, those of workgroups that come after others.
        let within = |b: &mut Builder, group: Value, heads: usize| {
            let (round, rest) = (b.div_const(group, (heads * blocks) as i64), b.rem_const(group, (heads * blocks) as i64));
            let (after, head) = (b.div_const(rest, heads as i64), b.rem_const(rest, heads as i64));
            (mul_const_add(b, round, heads as i64, head), b.sub(last, after))
        };
        let (line, block) = within(b, group, at_once);
        let rest = lines % at_once;
        if rest == 0 {
            return (line, block);
        }
        // The last heads are fewer.
        let whole = lines - rest;
        let begin = b.u32((whole * blocks) as u32);
        let is_whole = b.lt(group, begin);
        let beyond = b.sub(group, begin);
        let (other_line, other_block) = within(b, beyond, rest);
        let other_line = b.add_const(other_line, whole as i64);
        (b.select(is_whole, line, other_line), b.select(is_whole, block, other_block))
    }
}

/// The queries that meet a block of keys: none, if none of its keys counts.
fn queries_of(context: &Context<'_>, b: &mut Builder, inputs: &Inputs, first: Value, block: u32) -> (Value, Value) {
    let end = end(b, first, block, inputs.kv_len);
    let (from, to) = context.queries_seeing(b, inputs, first, end);
    let none = b.binary(BinaryOp::Ge, first, end);
    (from, b.select(none, from, to))
}

/// Sizes of a pass by queries or by keys.
fn inner(context: &Context<'_>, kernel: &AttentionGrad, element: Element, by_key: bool) -> Backward {
    let forward = context.kernel;
    let (query, key) = ([forward.q, kernel.dout], [forward.k, forward.v]);
    let (rows, columns) = if by_key { (key, query) } else { (query, key) };
    let grads = if by_key { [kernel.dk, kernel.dv] } else { [kernel.dq; 2] };
    let strides = [rows[0], rows[1], columns[0], columns[1], grads[0], grads[1]].map(|layout| layout.strides[2]);
    Backward {
        scores: scores(forward, element),
        by_key,
        rows: if by_key { forward.k_len } else { forward.q_len },
        heads: if by_key { context.group() } else { 1 },
        strides,
        head_strides: columns.map(|layout| layout.strides[1]),
    }
}

struct Pass<'a> {
    context: &'a Context<'a>,
    kernel: &'a AttentionGrad,
    element: Element,
    delta: Operand,
    /// Whether rows are keys.
    by_key: bool,
}

impl Pass<'_> {
    fn inner(&self) -> Backward {
        inner(self.context, self.kernel, self.element, self.by_key)
    }

    /// The columns that a block of rows meets.
    fn columns(&self, b: &mut Builder, inputs: &Inputs, first: Value, rows: Value) -> (Value, Value) {
        if self.by_key {
            return queries_of(self.context, b, inputs, first, native::ROWS);
        }
        let end = end(b, first, native::ROWS, rows);
        self.context.keys_seen(b, inputs, first, end)
    }

    fn step(&self, target: &Target) -> Result<ProgramLaunch, Unsupported> {
        let Pass { context, kernel, by_key, .. } = self;
        let forward = context.kernel;
        let features = forward.qk_dim;
        let inner = self.inner();
        let heads = if *by_key { forward.kv_heads } else { forward.heads };
        let block = native::ROWS;
        let items = forward.batch * heads * inner.rows.div_ceil(block as usize);
        let line = Line::new(items, target)?;
        let name = if *by_key { "attention_dkv_mma" } else { "attention_dq_mma" };
        let mut sig = Signature::new(name, [native::THREADS, 1, 1]);
        sig.made_for(target);
        let parameters = context.open(&mut sig);
        let lse = context.lse(false).open(&mut sig, "lse", false);
        let dout = context.input(context.n_inputs + 2, kernel.dout_buffer).open(&mut sig, "dy", false);
        let delta = self.delta.open(&mut sig, "delta", false);
        let mut grad =
            |name: &str, at: usize| context.output(context.n_inputs + 3 + at, kernel.grad_buffers[at]).open(&mut sig, name, true);
        let grads = if *by_key {
            [(grad("dk", 1), &kernel.dk), (grad("dv", 2), &kernel.dv)]
        } else {
            let dq = grad("dq", 0);
            [(dq, &kernel.dq), (dq, &kernel.dq)]
        };
        let b = &mut sig.b;
        let shared = b.shared("blocks", DType::U32, inner.shared_bytes() / 4);
        let group = line.group(b);
        let count = b.u32(items as u32);
        let exists = b.lt(group, count);
        b.when(exists, |b| {
            // Under a causal mask later queries see more keys, and earlier keys are seen by more queries.
            let [first, head, batch] = item(b, group, items, [heads, forward.batch], block, forward.spec.causal && !by_key);
            let inputs = context.of_sequence(b, &parameters, batch);
            let n_group = context.group() as i64;
            let (q_head, kv_head) = if *by_key { (b.mul_const(head, n_group), head) } else { (head, b.div_const(head, n_group)) };
            let rows = b.int(DType::I32, inner.rows as i64);
            let (from, to) = self.columns(b, &inputs, first, rows);
            let query = [(inputs.q, &forward.q, q_head), (dout, &kernel.dout, q_head)];
            let key = [(inputs.k, &forward.k, kv_head), (inputs.v, &forward.v, kv_head)];
            let (rows, columns) = if *by_key { (key, query) } else { (query, key) };
            let grads = grads.map(|(place, layout)| (place, layout, head));
            let tensors = [rows[0], rows[1], columns[0], columns[1], grads[0], grads[1]];
            let [r0, r1, c0, c1, g0, g1] = tensors.map(|(place, layout, head)| context.side(b, place, layout, features, batch, head).base);
            let zero = b.int(DType::I32, 0);
            let logs = context.row_number(b, batch, q_head, zero);
            let [p0, p1, p2, p3, p6, p7] = tensors.map(|(place, _, _)| place);
            b.raw(inner.statement(
                [r0, r1, c0, c1, g0, g1, logs, first, from, to, inputs.q_offset, inputs.kv_len],
                [p0, p1, p2, p3, lse, delta, p6, p7, shared],
            ));
        });
        Ok(sig.finish(line.grid))
    }
}
