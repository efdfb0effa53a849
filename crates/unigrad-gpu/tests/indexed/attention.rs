//! Attention, forward and backward.

use crate::{Values, check, on_target, targets, tolerance};
use unigrad_gpu::lower;
use unigrad_ir::{FragmentShape, Target};
use unigrad_kernel::testing::Rng;
use unigrad_kernel::{Arg, Attention, AttentionGrad, Kernel, Layout4, Pages};
use unigrad_scalar::{AttentionSpec, DType, Dropout, Literal, Positions};

/// A random layout of `[batch, head, position, feature]`: in any of the usual orders, with padding, features apart or backwards.
fn layout(random: &mut Rng, dims: [usize; 4]) -> (Layout4, usize) {
    let order = random.pick(&[[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]]);
    let (mut strides, mut next, mut offset) = ([0; 4], 1, random.below(3));
    for i in order.into_iter().rev() {
        strides[i] = next as i64;
        if random.below(8) == 0 {
            strides[i] = -strides[i];
            offset += next * dims[i].saturating_sub(1);
        }
        next = next * dims[i].max(1) + random.below(2);
    }
    (Layout4 { offset: offset as i64, strides }, next + offset + 1)
}

struct Case {
    grad: AttentionGrad,
    /// q, k, v, [bias], out, lse, dout, dq, dk, dv
    buffers: Vec<Vec<u8>>,
    scalars: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    kv_heads: usize,
    group: usize,
    q_len: usize,
    k_len: usize,
    qk_dim: usize,
    v_dim: usize,
}

fn case(random: &mut Rng, dtype: DType, sizes: Sizes, plain: bool) -> Case {
    let Sizes { batch, kv_heads, group, q_len, k_len, qk_dim, v_dim } = sizes;
    let heads = kv_heads * group;
    let (q, q_buffer) = layout(random, [batch, heads, q_len, qk_dim]);
    let (k, k_buffer) = layout(random, [batch, kv_heads, k_len, qk_dim]);
    let (v, v_buffer) = layout(random, [batch, kv_heads, k_len, v_dim]);
    let (out, out_buffer) = layout(random, [batch, heads, q_len, v_dim]);
    let (dout, dout_buffer) = layout(random, [batch, heads, q_len, v_dim]);
    let (dq, dq_buffer) = layout(random, [batch, heads, q_len, qk_dim]);
    let (dk, dk_buffer) = layout(random, [batch, kv_heads, k_len, qk_dim]);
    let (dv, dv_buffer) = layout(random, [batch, kv_heads, k_len, v_dim]);
    let bias = (!plain && random.below(3) == 0).then(|| {
        let (mut bias, len) = layout(random, [batch, heads, q_len, k_len]);
        if random.below(2) == 0 {
            let axis = random.below(4);
            bias.offset += bias.strides[axis].min(0) * ([batch, heads, q_len, k_len][axis] as i64 - 1).max(0);
            bias.strides[axis] = 0;
        }
        let dtype = if dtype == DType::F64 { DType::F64 } else { random.pick(&[dtype, DType::F32]) };
        (bias, Arg { dtype, len, write: false })
    });
    let dropout = (!plain && random.below(3) == 0).then(|| Dropout { keep_bits: 0.7f32.to_bits() });
    let forward = Attention {
        dtype,
        batch,
        heads,
        kv_heads,
        q_len,
        k_len,
        qk_dim,
        v_dim,
        spec: AttentionSpec {
            scale_bits: (1.0 / (qk_dim.max(1) as f64).sqrt()).to_bits(),
            causal: random.below(2) == 0,
            window: (random.below(4) == 0).then(|| 1 + random.below(k_len.max(1))),
            dropout,
            has_bias: bias.is_some(),
            positions: Positions::Same,
        },
        tf32: false,
        pages: None,
        q,
        k,
        v,
        out,
        bias,
        q_buffer,
        k_buffer,
        v_buffer,
        out_buffer,
    };
    let mut buffers = vec![random.numbers(dtype, q_buffer), random.numbers(dtype, k_buffer), random.numbers(dtype, v_buffer)];
    buffers.extend(forward.bias.map(|(_, arg)| random.numbers(arg.dtype, arg.len)));
    // What no kernel writes is compared too: it must stay.
    buffers.push(vec![0; out_buffer * dtype.size()]);
    buffers.push(vec![0; batch * heads * q_len * forward.lse_dtype().size()]);
    buffers.push(random.numbers(dtype, dout_buffer));
    buffers.extend([dq_buffer, dk_buffer, dv_buffer].map(|len| vec![0; len * dtype.size()]));
    let kv_len = if random.below(2) == 0 { k_len as i64 } else { random.pick(&[0, k_len as i64 / 2, i64::MAX, k_len as i64]) };
    let q_offset = if random.below(2) == 0 { 0 } else { random.pick(&[-3, 2, k_len as i64 - q_len as i64]) };
    let mut scalars = vec![kv_len as u64, q_offset as u64];
    if forward.spec.dropout.is_some() {
        scalars.extend([0x1234_5678_9abc_def0, 77]);
    }
    let grad = AttentionGrad { forward, dout, dout_buffer, dq, dk, dv, grad_buffers: [dq_buffer, dk_buffer, dv_buffer] };
    Case { grad, buffers, scalars }
}

/// The case with a length and an offset for each sequence, some of them out of range (drivers clamp them). With `page`, keys and values are in
/// pages of that size in any order, and some of those that the table names do not exist (drivers take one that does).
fn differing(random: &mut Rng, mut case: Case, page: Option<usize>) -> Case {
    let forward = &mut case.grad.forward;
    forward.spec.positions = if page.is_some() { Positions::Paged } else { Positions::Each };
    if page.is_some() && forward.bias.take().is_some() {
        forward.spec.has_bias = false;
        case.buffers.remove(3);
    }
    let mut per_sequence = 0;
    if let Some(size) = page {
        per_sequence = forward.k_len.div_ceil(size);
        forward.k_len = per_sequence * size;
        let count = forward.batch * per_sequence + 1;
        forward.pages = Some(Pages { count, size });
        (forward.k, forward.k_buffer) = layout(random, [count, forward.kv_heads, size, forward.qk_dim]);
        (forward.v, forward.v_buffer) = layout(random, [count, forward.kv_heads, size, forward.v_dim]);
        case.buffers[1] = random.numbers(forward.dtype, forward.k_buffer);
        case.buffers[2] = random.numbers(forward.dtype, forward.v_buffer);
    }
    let mut table = Vec::new();
    for _ in 0..forward.batch {
        let (all, step) = (forward.k_len as i32, page.unwrap_or(16) as i32);
        let length = random.pick(&[0, 1, step - 1, step, step + 1, all - 1, all, all / 2, i32::MAX, -1]);
        let offset = random.pick(&[0, -3, 2, length.clamp(0, all) - forward.q_len as i32, i32::MAX, i32::MIN]);
        table.extend([length, offset]);
        table.extend((0..per_sequence).map(|_| random.below(forward.batch * per_sequence + 3) as i32 - 1));
    }
    case.buffers.insert(forward.n_inputs() - 1, table.iter().flat_map(|at| at.to_le_bytes()).collect());
    case.scalars.drain(..2);
    case
}

/// Both passes on a target against the CPU's.
fn check_case(mut case: Case, target: &Target) {
    let forward = Kernel::Attention(case.grad.forward.clone());
    let dtype = case.grad.forward.dtype;
    let n = forward.args().len();
    if case.grad.forward.qk_dim * case.grad.forward.v_dim == 0 {
        // The CPU has no attention without features.
        on_target(&forward, target, &mut case.buffers[..n], &case.scalars).unwrap();
        if case.grad.forward.pages.is_some() || case.grad.forward.n_inputs() + 4 > target.max_buffers as usize {
            return;
        }
        return on_target(&Kernel::AttentionGrad(case.grad), target, &mut case.buffers, &case.scalars).unwrap();
    }
    check(&forward, target, &case.buffers[..n], &case.scalars, 2, tolerance(dtype));
    // The gradient's kernel takes no pages, and with fewer buffers than it has inputs and results there is none.
    if case.grad.forward.pages.is_some() || case.grad.forward.n_inputs() + 4 > target.max_buffers as usize {
        return;
    }
    crate::on_cpu(&forward, &mut case.buffers[..n], &case.scalars).unwrap();
    check(&Kernel::AttentionGrad(case.grad), target, &case.buffers, &case.scalars, 3, tolerance(dtype) * 4.0);
}

#[test]
fn small_and_odd() {
    let mut random = Rng(8);
    let targets = targets();
    for round in 0..120 {
        let sizes = Sizes {
            batch: random.pick(&[0, 1, 2, 3]),
            kv_heads: 1 + random.below(2),
            group: 1 + random.below(3),
            q_len: random.pick(&[0, 1, 2, 5, 17, 33]),
            k_len: random.pick(&[0, 1, 3, 16, 31, 70]),
            qk_dim: random.pick(&[0, 1, 3, 8, 20]),
            v_dim: random.pick(&[0, 1, 5, 16, 19]),
        };
        let dtype = random.pick(&[DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16]);
        let case = case(&mut random, dtype, sizes, false);
        check_case(case, &targets[round % targets.len()]);
    }
}

#[test]
fn sequences_of_different_lengths() {
    let mut random = Rng(28);
    let targets = targets();
    for round in 0..120 {
        let sizes = Sizes {
            batch: random.pick(&[1, 2, 3, 5]),
            kv_heads: 1 + random.below(2),
            group: 1 + random.below(3),
            q_len: random.pick(&[0, 1, 2, 5, 17, 33]),
            k_len: random.pick(&[1, 3, 16, 31, 70]),
            qk_dim: random.pick(&[1, 3, 8, 20]),
            v_dim: random.pick(&[1, 5, 16, 19]),
        };
        let dtype = random.pick(&[DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16]);
        let case = case(&mut random, dtype, sizes, false);
        let page = (round % 2 == 0).then(|| random.pick(&[1, 4, 16, 17]));
        let case = differing(&mut random, case, page);
        check_case(case, &targets[round % targets.len()]);
    }
}

#[test]
fn few_queries_of_different_lengths_in_parts_of_keys() {
    let mut random = Rng(29);
    for target in targets() {
        for (group, q_len, dtype, page) in [(1, 1, DType::F32, Some(16)), (4, 1, DType::BF16, None), (3, 2, DType::F16, Some(7))] {
            let sizes = Sizes { batch: 3, kv_heads: 2, group, q_len, k_len: 1100, qk_dim: 16, v_dim: 8 };
            let case = case(&mut random, dtype, sizes, true);
            let case = differing(&mut random, case, page);
            let forward = Kernel::Attention(case.grad.forward.clone());
            let n = forward.args().len();
            check(&forward, &target, &case.buffers[..n], &case.scalars, 2, tolerance(dtype));
        }
    }
}

#[test]
fn fragments_of_different_lengths() {
    let mut random = Rng(30);
    for (name, target) in matrix_targets() {
        for round in 0..4 {
            let sizes = Sizes {
                batch: 3,
                kv_heads: 1 + random.below(2),
                group: 1 + random.below(2),
                q_len: random.pick(&[16, 17, 33, 70]),
                k_len: random.pick(&[31, 65, 100]),
                qk_dim: random.pick(&[8, 20, 64]),
                v_dim: random.pick(&[16, 19, 64]),
            };
            let dtype = half(&mut random, &target);
            let case = case(&mut random, dtype, sizes, round % 2 == 0);
            let page = (round >= 2).then(|| random.pick(&[4, 16, 17]));
            let case = differing(&mut random, case, page);
            println!("{name}: {sizes:?}");
            assert!(uses_fragments(&Kernel::Attention(case.grad.forward.clone()), &target), "{name}: {sizes:?}");
            check_case(case, &target);
        }
    }
}

#[test]
fn many_features() {
    let mut random = Rng(9);
    for target in targets() {
        for dtype in [DType::F32, DType::F64] {
            let sizes = Sizes { batch: 1, kv_heads: 1, group: 2, q_len: 9, k_len: 20, qk_dim: 70, v_dim: 150 };
            check_case(case(&mut random, dtype, sizes, false), &target);
        }
    }
}

#[test]
fn few_queries_of_many_keys() {
    let mut random = Rng(10);
    for target in targets() {
        for (group, q_len, dtype) in [(1, 1, DType::F32), (4, 1, DType::BF16), (3, 2, DType::F16), (1, 3, DType::F64)] {
            let sizes = Sizes { batch: 1, kv_heads: 2, group, q_len, k_len: 1100, qk_dim: 16, v_dim: 8 };
            let case = case(&mut random, dtype, sizes, true);
            let forward = Kernel::Attention(case.grad.forward.clone());
            let n = forward.args().len();
            check(&forward, &target, &case.buffers[..n], &case.scalars, 2, tolerance(dtype));
        }
    }
}

/// Devices with matrix fragments, by what lowering sees of them: HIP on gfx90a and gfx1100, Metal, OpenCL with PTX, wgpu.
fn matrix_targets() -> Vec<(&'static str, Target)> {
    let shape = |n, input| FragmentShape { m: n, n, k: n, input, sum: DType::F32 };
    let halves = |n| vec![shape(n, DType::F16), shape(n, DType::BF16)];
    let all = Target { fragments: halves(16), ..Target::interpreter() };
    let little = Target { f64: false, i64: false, f16: false, tables: false, ..all.clone() };
    vec![
        ("gfx90a", Target { subgroup: Some(64), shared_bytes: 64 << 10, ..all.clone() }),
        ("gfx1100", Target { shared_bytes: 64 << 10, ..all.clone() }),
        ("metal", Target { shared_bytes: 32 << 10, fragments: halves(8), f64: false, ..all.clone() }),
        ("opencl", all.clone()),
        ("wgpu", Target { fragments: vec![shape(16, DType::F16)], max_buffers: 8, max_threads: 256, ..little.clone() }),
        ("wgpu, little memory", Target { fragments: vec![shape(8, DType::F16)], shared_bytes: 16 << 10, vectors: false, ..little }),
    ]
}

/// The steps that use fragments, of all.
fn fragment_steps(kernel: &Kernel, target: &Target) -> (usize, usize) {
    let lowered = lower(kernel, target).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    (lowered.steps.iter().filter(|step| !step.program.is_plain()).count(), lowered.steps.len())
}

fn uses_fragments(kernel: &Kernel, target: &Target) -> bool {
    fragment_steps(kernel, target).0 > 0
}

/// Either dtype if the target multiplies both.
fn half(random: &mut Rng, target: &Target) -> DType {
    random.pick(&target.fragments.iter().map(|shape| shape.input).collect::<Vec<_>>())
}

/// Sizes of a case without batch.
fn sizes([kv_heads, group, q_len, k_len, qk_dim, v_dim]: [usize; 6]) -> Sizes {
    Sizes { batch: 1, kv_heads, group, q_len, k_len, qk_dim, v_dim }
}

/// The forward pass by fragments against the CPU's. With little memory, many features are for threads.
fn check_forward(case: &Case, target: &Target) {
    let forward = Kernel::Attention(case.grad.forward.clone());
    let many = case.grad.forward.qk_dim.max(case.grad.forward.v_dim) >= 128;
    assert!(uses_fragments(&forward, target) || many && target.shared_bytes < 32 << 10, "{forward:?}");
    check(&forward, target, &case.buffers[..forward.args().len()], &case.scalars, 2, tolerance(case.grad.forward.dtype));
}

#[test]
fn fragments_of_odd_sizes() {
    let mut random = Rng(11);
    let mut used = 0;
    for (name, target) in matrix_targets() {
        for _ in 0..5 {
            let sizes = Sizes {
                batch: random.pick(&[1, 2]),
                kv_heads: 1 + random.below(2),
                group: 1 + random.below(3),
                q_len: random.pick(&[7, 16, 17, 33, 70]),
                k_len: random.pick(&[16, 31, 65, 100]),
                qk_dim: random.pick(&[8, 16, 20, 37, 64]),
                v_dim: random.pick(&[8, 16, 19, 40, 64]),
            };
            let dtype = half(&mut random, &target);
            let case = case(&mut random, dtype, sizes, false);
            used += u32::from(uses_fragments(&Kernel::Attention(case.grad.forward.clone()), &target));
            println!("{name}: {sizes:?}");
            check_case(case, &target);
        }
    }
    assert!(used >= 20, "{used} of 30 used fragments");
}

#[test]
fn fragments_of_usual_sizes() {
    let mut random = Rng(12);
    for (_, target) in matrix_targets() {
        for (group, q_len, k_len, dim) in [(1, 65, 130, 64), (2, 40, 70, 128)] {
            let dtype = half(&mut random, &target);
            let mut case = case(&mut random, dtype, sizes([1, group, q_len, k_len, dim, dim]), true);
            case.grad.forward.spec.causal = true;
            check_forward(&case, &target);
            // All but the sums of the output times its gradient.
            let (used, all) = fragment_steps(&Kernel::AttentionGrad(case.grad.clone()), &target);
            assert!(used + 1 == all || target.shared_bytes < 32 << 10, "{used} of {all} steps with {dim} features");
            check_case(case, &target);
        }
    }
}

#[test]
fn maxima_that_grow_scale_the_sums() {
    let mut random = Rng(13);
    for (_, target) in matrix_targets() {
        for (q_len, v_dim) in [(16, 32), (70, 100)] {
            let dtype = half(&mut random, &target);
            let mut case = case(&mut random, dtype, sizes([1, 1, q_len, 200, 16, v_dim]), true);
            let forward = &mut case.grad.forward;
            (forward.spec.causal, forward.spec.window) = (false, None);
            case.scalars = vec![200, 0];
            // Scores grow from key to key, in steps far beyond the slack.
            forward.spec.scale_bits = 1.0f64.to_bits();
            let value = |at: i64| Literal::float(dtype, (at / 20) as f64 * 1.5);
            let keys = &mut case.buffers[1];
            let mut all = crate::decode(dtype, keys);
            for j in 0..200 {
                let [.., position, feature] = forward.k.strides;
                for f in 0..16 {
                    all[(forward.k.offset + j * position + f * feature) as usize] = if f == 0 { value(j) } else { Literal::zero(dtype) };
                }
            }
            *keys = crate::encode(dtype, all);
            check_forward(&case, &target);
        }
    }
}

#[test]
fn fragments_in_parts_of_keys_and_of_features() {
    let mut random = Rng(14);
    for (name, target) in matrix_targets() {
        // Queries of a group as one block, keys in parts; values in ranges of features.
        for sizes in [sizes([1, 4, 5, 1100, 16, 24]), sizes([1, 1, 20, 40, 16, 300])] {
            println!("{name}: {sizes:?}");
            let dtype = half(&mut random, &target);
            let case = case(&mut random, dtype, sizes, false);
            check_forward(&case, &target);
        }
    }
}

#[test]
fn queries_that_see_nothing_and_all_that_is_dropped() {
    let mut random = Rng(15);
    for (_, target) in matrix_targets() {
        for (kv_len, q_offset, keep) in [(0, 0, 0.9f32), (40, -30, 0.5), (40, 100, 0.0)] {
            let dtype = half(&mut random, &target);
            let mut case = case(&mut random, dtype, sizes([1, 1, 40, 40, 16, 16]), true);
            let forward = &mut case.grad.forward;
            (forward.spec.causal, forward.spec.window) = (true, Some(25));
            forward.spec.dropout = Some(Dropout { keep_bits: keep.to_bits() });
            case.scalars = vec![kv_len, q_offset as i64 as u64, 3, 4];
            check_forward(&case, &target);
            check_case(case, &target);
        }
    }
}

/// `[batch, position, head, feature]` (or heads before positions) without gaps, as projections and caches lie: aligned for every device.
fn plain_layout(random: &mut Rng, [batch, heads, positions, features]: [usize; 4]) -> (Layout4, usize) {
    let (line, count) = (features as i64, (batch * heads * positions * features).max(1));
    let strides = if random.below(2) == 0 {
        [positions as i64 * heads as i64 * line, line, heads as i64 * line, 1]
    } else {
        [positions as i64 * heads as i64 * line, positions as i64 * line, line, 1]
    };
    (Layout4 { offset: 0, strides }, count)
}

/// The names of a kernel's programs.
fn programs(kernel: &Kernel, target: &Target) -> Vec<String> {
    let lowered = lower(kernel, target).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    lowered.steps.iter().map(|step| step.program.name.clone()).collect()
}

#[test]
fn few_queries_against_a_cache() {
    let mut random = Rng(17);
    let all = Target::interpreter();
    let targets = [
        all.clone(),
        Target { subgroup: Some(8), compute_units: 64, ..all.clone() },
        Target { subgroup: Some(64), compute_units: 100, ..all.clone() },
        Target { vectors: false, shared_bytes: 16 << 10, ..all.clone() },
        Target { scalars_in_block: true, compute_units: 132, ..all },
    ];
    let mut used = 0;
    for round in 0..150 {
        let target = &targets[round % targets.len()];
        // A turn has 32 keys, or those of a subgroup: its edges, those of several turns, those of parts.
        let turn = target.subgroup.unwrap_or(1).max(32) as usize;
        let several = 1 + random.below(4);
        let sizes = Sizes {
            batch: 1 + random.below(3),
            kv_heads: 1 + random.below(2),
            group: random.pick(&[1, 2, 3, 4, 8]),
            q_len: random.pick(&[1, 1, 1, 2, 3]),
            k_len: random.pick(&[1, turn - 1, turn, turn + 1, several * turn, several * turn + 7, 17 * turn]),
            qk_dim: random.pick(&[4, 8, 24, 64, 64, 80, 128]),
            v_dim: random.pick(&[4, 8, 40, 64, 64, 96, 128]),
        };
        let dtype = random.pick(&[DType::F32, DType::F64, DType::F16, DType::BF16, DType::BF16]);
        let mut case = case(&mut random, dtype, sizes, false);
        let Sizes { batch, kv_heads, group, q_len, k_len, qk_dim, v_dim } = sizes;
        let forward = &mut case.grad.forward;
        for (at, dims) in [[batch, kv_heads * group, q_len, qk_dim], [batch, kv_heads, k_len, qk_dim], [batch, kv_heads, k_len, v_dim]]
            .into_iter()
            .enumerate()
        {
            let (layout, len) = plain_layout(&mut random, dims);
            case.buffers[at] = random.numbers(dtype, len);
            match at {
                0 => (forward.q, forward.q_buffer) = (layout, len),
                1 => (forward.k, forward.k_buffer) = (layout, len),
                _ => (forward.v, forward.v_buffer) = (layout, len),
            }
        }
        if random.below(2) == 0 {
            let page = (random.below(2) == 0).then(|| random.pick(&[1, 8, 16, turn]));
            case = differing(&mut random, case, page);
        }
        if round % 5 == 0 {
            // The last value is infinite: so is a result that sees it, and no other.
            let mut values = crate::decode(dtype, &case.buffers[2]);
            values.last_mut().into_iter().for_each(|last| *last = Literal::float(dtype, f64::INFINITY));
            case.buffers[2] = crate::encode(dtype, values);
        }
        let kernel = Kernel::Attention(case.grad.forward.clone());
        let words = dtype.compute().size().div_ceil(4) * group * q_len;
        let names = programs(&kernel, target);
        let few = names[0] == "attention_few";
        assert!(few || group * q_len > 4 || words * qk_dim.max(v_dim) > 512, "{sizes:?} {dtype} {names:?}");
        used += u32::from(few);
        let n = kernel.args().len();
        println!("{round}: {sizes:?} {dtype} {:?} {names:?}", case.grad.forward.spec);
        check(&kernel, target, &case.buffers[..n], &case.scalars, 2, tolerance(dtype));
    }
    assert!(used >= 100, "{used} of 150 were for subgroups");
}

#[test]
fn few_queries_are_for_threads() {
    let mut random = Rng(16);
    for (_, target) in matrix_targets() {
        for dtype in [DType::F16, DType::F32] {
            let q_len = if dtype == DType::F32 { 64 } else { 1 };
            let case = case(&mut random, dtype, sizes([2, 2, q_len, 64, 16, 16]), true);
            assert!(!uses_fragments(&Kernel::Attention(case.grad.forward), &target));
        }
    }
}
