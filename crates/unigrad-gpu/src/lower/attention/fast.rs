//! The forward pass in a device's own words, where it has matrix instructions for it: [`native::attention`].

use super::Context;
use crate::lower::native::attention::{self as native, Forward};
use crate::lower::work::Line;
use crate::lower::{Signature, Step, Unsupported};
use unigrad_ir::Target;
use unigrad_kernel::Layout4;
use unigrad_scalar::DType;

/// Queries of a head from which a block of them pays.
const MANY: usize = 48;

/// The launch, if the kernel suits.
pub(super) fn forward(context: &Context<'_>, target: &Target) -> Result<Option<Step>, Unsupported> {
    let kernel = context.kernel;
    let features = kernel.qk_dim;
    let scale = f64::from_bits(kernel.scale_bits);
    // Copies are 16 bytes long and aligned so, stores 4.
    let aligned = |layout: &Layout4, to: i64| {
        let rows = &layout.strides[..3];
        layout.strides[3] == 1 && layout.offset % to == 0 && rows.iter().all(|stride| *stride >= 0 && stride % to == 0)
    };
    let suits = matches!(kernel.dtype, DType::F16 | DType::BF16)
        && (features == 64 || features == 128)
        && kernel.v_dim == features
        && kernel.q_len >= MANY
        && kernel.bias.is_none()
        && kernel.dropout.is_none()
        && scale > 0.0
        && native::available(target, features)
        && [&kernel.q, &kernel.k, &kernel.v].into_iter().all(|layout| aligned(layout, 8))
        && aligned(&kernel.out, 2);
    if !suits {
        return Ok(None);
    }
    let inner = Forward {
        dtype: kernel.dtype,
        features: features as u32,
        q_len: kernel.q_len,
        scale,
        causal: kernel.causal,
        window: kernel.window.map(super::window_of),
        strides: [kernel.q, kernel.k, kernel.v, kernel.out].map(|layout| layout.strides[2]),
    };
    let blocks = kernel.q_len.div_ceil(native::QUERIES as usize);
    let items = kernel.batch * kernel.heads * blocks;
    let line = Line::new(items, target)?;
    let mut sig = Signature::new("attention_mma", [native::THREADS, 1, 1]);
    let inputs = context.open(&mut sig);
    let out = context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true);
    let lse = context.lse(true).open(&mut sig, "lse", true);
    let b = &mut sig.b;
    let shared = b.shared("blocks", DType::U32, native::shared_bytes(features as u32) / 4);
    let group = line.group(b);
    let count = b.u32(items as u32);
    let exists = b.lt(group, count);
    b.when(exists, |b| {
        // Later queries see more keys under a causal mask: they start first.
        let last = b.add_const(count, -1);
        let item = if kernel.causal { b.sub(last, group) } else { group };
        let (rest, head) = (b.div_const(item, kernel.heads as i64), b.rem_const(item, kernel.heads as i64));
        let (block, batch) = (b.div_const(rest, kernel.batch as i64), b.rem_const(rest, kernel.batch as i64));
        let kv_head = b.div_const(head, context.group() as i64);
        let first = b.mul_const(block, native::QUERIES.into());
        let first = b.cast(first, DType::I32);
        let end = b.add_const(first, native::QUERIES.into());
        let most = b.int(DType::I32, kernel.q_len as i64);
        let end = b.binary(unigrad_scalar::BinaryOp::Min, end, most);
        let (from, to) = context.keys_seen(b, &inputs, first, end);
        let bases = [(inputs.q, &kernel.q, head), (inputs.k, &kernel.k, kv_head), (inputs.v, &kernel.v, kv_head), (out, &kernel.out, head)]
            .map(|(place, layout, head)| context.side(b, place, layout, features, batch, head).base);
        let zero = b.int(DType::I32, 0);
        let logs = context.row_number(b, batch, head, zero);
        let [q, k, v, y] = bases;
        b.raw(inner.statement([q, k, v, y, logs, first, from, to, inputs.q_offset], [inputs.q, inputs.k, inputs.v, out, lse, shared]));
    });
    Ok(Some(sig.finish(line.grid)))
}
