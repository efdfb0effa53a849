//! Both passes in a device's own words, where it has matrix instructions for them: [`native::attention`].

use super::{Context, Inputs, aligned};
use crate::lower::distribute::{Line, Operand};
use crate::lower::native::attention::{self as native, Backward, Forward};
use crate::lower::{Signature, Step, Unsupported};
use unigrad_ir::{Builder, Target, Value};
use unigrad_kernel::AttentionGrad;
use unigrad_scalar::{BinaryOp, DType};

/// Queries of a head from which a block of them pays.
const MANY: usize = 48;

/// Whether the forward pass suits, and what the gradient shares with it. Copies are 16 bytes long (8 elements), stores 4 bytes (2 elements).
fn suits(context: &Context<'_>, target: &Target) -> bool {
    let kernel = context.kernel;
    matches!(kernel.dtype, DType::F16 | DType::BF16)
        && (kernel.qk_dim == 64 || kernel.qk_dim == 128)
        && kernel.v_dim == kernel.qk_dim
        && kernel.q_len >= MANY
        && kernel.bias.is_none()
        // Copies go from position to position by one stride.
        && kernel.pages.is_none()
        && kernel.spec.dropout.is_none()
        && f64::from_bits(kernel.spec.scale_bits) > 0.0
        && native::available(target, kernel.qk_dim)
        && [&kernel.q, &kernel.k, &kernel.v].into_iter().all(|layout| aligned(layout, 8))
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
pub(super) fn forward(context: &Context<'_>, target: &Target) -> Result<Option<Step>, Unsupported> {
    let kernel = context.kernel;
    if !suits(context, target) || !aligned(&kernel.out, 2) {
        return Ok(None);
    }
    let features = kernel.qk_dim;
    let inner = Forward {
        dtype: kernel.dtype,
        features: features as u32,
        q_len: kernel.q_len,
        scale: f64::from_bits(kernel.spec.scale_bits),
        causal: kernel.spec.causal,
        window: kernel.spec.window.map(super::window_of),
        strides: [kernel.q, kernel.k, kernel.v, kernel.out].map(|layout| layout.strides[2]),
    };
    let items = kernel.batch * kernel.heads * kernel.q_len.div_ceil(native::QUERIES as usize);
    let line = Line::new(items, target)?;
    let mut sig = Signature::new("attention_mma", [native::THREADS, 1, 1]);
    sig.made_for(target);
    let parameters = context.open(&mut sig);
    let out = context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true);
    let lse = context.lse(true).open(&mut sig, "lse", true);
    let b = &mut sig.b;
    let shared = b.shared("blocks", DType::U32, native::shared_bytes(features as u32) / 4);
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
        let [q, k, v, y] =
            [(inputs.q, &kernel.q, head), (inputs.k, &kernel.k, kv_head), (inputs.v, &kernel.v, kv_head), (out, &kernel.out, head)]
                .map(|(place, layout, head)| context.side(b, place, layout, features, batch, head).base);
        let zero = b.int(DType::I32, 0);
        let logs = context.row_number(b, batch, head, zero);
        b.raw(inner.statement([q, k, v, y, logs, first, from, to, inputs.q_offset], [inputs.q, inputs.k, inputs.v, out, lse, shared]));
    });
    Ok(Some(sig.finish(line.grid)))
}

/// The two launches after the one that makes `delta`, if the kernel suits.
pub(super) fn backward(
    context: &Context<'_>,
    kernel: &AttentionGrad,
    delta: Operand,
    target: &Target,
) -> Result<Option<[Step; 2]>, Unsupported> {
    let outputs = [&kernel.dq, &kernel.dk, &kernel.dv];
    let features = context.kernel.qk_dim;
    let pass = |by_key| {
        let rows = if by_key { context.kernel.k_len } else { context.kernel.q_len };
        Pass { context, kernel, delta, by_key, hopper: Backward::is_for_warpgroups(target, features as u32, rows) }
    };
    let fits = |pass: &Pass<'_>| pass.inner(features).shared_bytes() as usize <= target.shared_bytes;
    if !suits(context, target)
        || context.kernel.k_len < MANY
        || !aligned(&kernel.dout, 8)
        || !outputs.into_iter().all(|layout| aligned(layout, 2))
        || ![false, true].map(pass).iter().all(fits)
    {
        return Ok(None);
    }
    Ok(Some([pass(false).step(target)?, pass(true).step(target)?]))
}

struct Pass<'a> {
    context: &'a Context<'a>,
    kernel: &'a AttentionGrad,
    delta: Operand,
    /// Whether rows are keys.
    by_key: bool,
    /// Whether warpgroups multiply.
    hopper: bool,
}

impl Pass<'_> {
    fn inner(&self, features: usize) -> Backward {
        let forward = self.context.kernel;
        let (query, key) = ([forward.q, self.kernel.dout], [forward.k, forward.v]);
        let (rows, columns) = if self.by_key { (key, query) } else { (query, key) };
        let grads = if self.by_key { [self.kernel.dk, self.kernel.dv] } else { [self.kernel.dq; 2] };
        let strides = [rows[0], rows[1], columns[0], columns[1], grads[0], grads[1]].map(|layout| layout.strides[2]);
        Backward {
            dtype: forward.dtype,
            features: features as u32,
            by_key: self.by_key,
            rows: if self.by_key { forward.k_len } else { forward.q_len },
            heads: if self.by_key { self.context.group() } else { 1 },
            q_len: forward.q_len,
            scale: f64::from_bits(forward.spec.scale_bits),
            causal: forward.spec.causal,
            window: forward.spec.window.map(super::window_of),
            strides,
            head_strides: columns.map(|layout| layout.strides[1]),
            hopper: self.hopper,
        }
    }

    /// The columns that rows `first..end` meet.
    fn columns(&self, b: &mut Builder, inputs: &Inputs, first: Value, (block, rows): (u32, Value)) -> (Value, Value) {
        if !self.by_key {
            let end = end(b, first, block, rows);
            return self.context.keys_seen(b, inputs, first, end);
        }
        let end = end(b, first, block, inputs.kv_len);
        let (from, to) = self.context.queries_seeing(b, inputs, first, end);
        let none = b.binary(BinaryOp::Ge, first, end);
        (from, b.select(none, from, to))
    }

    fn step(&self, target: &Target) -> Result<Step, Unsupported> {
        let Pass { context, kernel, by_key, .. } = self;
        let forward = context.kernel;
        let features = forward.qk_dim;
        let inner = self.inner(features);
        let heads = if *by_key { forward.kv_heads } else { forward.heads };
        let (threads, block, at_once) = inner.group();
        let items = forward.batch * heads * inner.rows.div_ceil(block as usize);
        let line = Line::new(items, target)?;
        let name = match (by_key, inner.hopper) {
            (true, true) => "attention_dkv_wgmma",
            (false, true) => "attention_dq_wgmma",
            (true, false) => "attention_dkv_mma",
            (false, false) => "attention_dq_mma",
        };
        let mut sig = Signature::new(name, [threads, 1, 1]);
        if let Some(workgroups) = at_once {
            sig.b.at_once(workgroups);
        }
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
            let (from, to) = self.columns(b, &inputs, first, (block, rows));
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
