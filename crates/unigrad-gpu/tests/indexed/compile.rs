//! A sample of every family is rendered for devices that are not here; `cargo xtask compile-kernels` gives the texts to their compilers.

use smallvec::SmallVec;
use unigrad_gpu::lower;
use unigrad_ir::{Dialect, FragmentShape, Target, collect, offline_targets, render, validate};
use unigrad_kernel::{
    Arg, ArgSort, Attention, AttentionGrad, BatchDim, Contract, KDim, Kernel, Layout4, MDim, MaxPool, NDim, Pages, Scan, Scatter,
    ScatterBase, TopK,
};
use unigrad_scalar::{AttentionSpec, DType, Dropout, Literal, PoolSpec, Positions, ScanOp, ScatterMode};

fn dense([_, h, t, d]: [usize; 4]) -> Layout4 {
    Layout4 { offset: 0, strides: [(h * t * d) as i64, (t * d) as i64, d as i64, 1] }
}

/// `[2, heads, q_len, d]` against keys of `kv_heads`.
fn attention(dtype: DType, [heads, kv_heads, q_len, k_len, d]: [usize; 5], plain: bool) -> Attention {
    let (q, k) = ([2, heads, q_len, d], [2, kv_heads, k_len, d]);
    let n = |dims: [usize; 4]| dims.iter().product();
    Attention {
        dtype,
        batch: 2,
        heads,
        kv_heads,
        q_len,
        k_len,
        qk_dim: d,
        v_dim: d,
        spec: AttentionSpec {
            scale_bits: 0.125f64.to_bits(),
            causal: true,
            window: (!plain).then_some(100),
            dropout: (!plain).then(|| Dropout { keep_bits: 0.9f32.to_bits() }),
            has_bias: !plain,
            positions: Positions::Same,
        },
        tf32: false,
        pages: None,
        q: dense(q),
        k: dense(k),
        v: dense(k),
        out: dense(q),
        bias: (!plain).then(|| (dense([2, heads, q_len, k_len]), Arg { dtype, len: 2 * heads * q_len * k_len, write: false })),
        q_buffer: n(q),
        k_buffer: n(k),
        v_buffer: n(k),
        out_buffer: n(q),
    }
}

/// With keys and values in pages of about a third of a sequence's.
fn in_pages(attention: Attention) -> Attention {
    let Attention { kv_heads, k_len, qk_dim, v_dim, .. } = attention;
    let pages = Pages { size: k_len.div_ceil(3), count: 7 };
    let layout = |d: usize| Layout4 { offset: 0, strides: [pages.size * kv_heads * d, d, kv_heads * d, 1].map(|n| n as i64) };
    let len = |d: usize| pages.count * pages.size * kv_heads * d;
    let spec = AttentionSpec { positions: Positions::Paged, ..attention.spec.clone() };
    let (k, v, k_buffer, v_buffer) = (layout(qk_dim), layout(v_dim), len(qk_dim), len(v_dim));
    Attention { spec, k_len: 3 * pages.size, pages: Some(pages), k, v, k_buffer, v_buffer, ..attention }
}

fn gradient(forward: Attention) -> AttentionGrad {
    let grad_buffers = [forward.q_buffer, forward.k_buffer, forward.v_buffer];
    let (q, k, v, out, dout_buffer) = (forward.q, forward.k, forward.v, forward.out, forward.out_buffer);
    AttentionGrad { forward, dout: out, dout_buffer, dq: q, dk: k, dv: v, grad_buffers }
}

fn scatter(dtype: DType, mode: ScatterMode, n: usize) -> Scatter {
    Scatter {
        mode,
        base: ScatterBase::Fill(Literal::zero(dtype)),
        axis: 0,
        shape: SmallVec::from_slice(&[n, 64]),
        index_strides: SmallVec::from_slice(&[1, 0]),
        index_offset: 0,
        src_strides: SmallVec::from_slice(&[64, 1]),
        src_offset: 0,
        out_shape: SmallVec::from_slice(&[1000, 64]),
        index: Arg { dtype: DType::I64, len: n, write: false },
        src: Arg { dtype, len: n * 64, write: false },
        dtype,
    }
}

/// `[vectors, k]` times the rows of `[rows, k]`.
fn linear(dtype: DType, [vectors, rows, k]: [usize; 3]) -> Contract {
    let arg = |len, write| Arg { dtype, len, write };
    Contract {
        batch: SmallVec::new(),
        m: SmallVec::from_slice(&[MDim { size: vectors, a: k as i64, c: rows as i64 }]),
        n: SmallVec::from_slice(&[NDim { size: rows, b: k as i64, c: 1 }]),
        k: SmallVec::from_slice(&[KDim { size: k, a: 1, b: 1 }]),
        a_offset: 0,
        b_offset: 0,
        a: arg(vectors * k, false),
        b: arg(rows * k, false),
        c: arg(vectors * rows, true),
        epilogue: None,
        tf32: false,
        prologues: [None, None],
    }
}

/// A layer of 3 by 3 taps, 32 to 64 channels, images of 26 by 26 one channel after the other: its result, and its weights' gradient.
fn convolved() -> [Contract; 2] {
    let (taps, channels, images) = ([3, 3], [32, 64], 16);
    let (x, y): (i64, i64) = (26, 24);
    let arg = |len: i64, write| Arg { dtype: DType::F32, len: len as usize, write };
    let [x_len, y_len] = [images * 32 * x * x, images * 64 * y * y];
    let common = Contract {
        batch: SmallVec::new(),
        m: SmallVec::new(),
        n: SmallVec::new(),
        k: SmallVec::new(),
        a_offset: 0,
        b_offset: 0,
        a: arg(64 * 288, false),
        b: arg(x_len, false),
        c: arg(y_len, true),
        epilogue: None,
        tf32: true,
        prologues: [None, None],
    };
    let [inputs, outputs] = channels;
    let forward = Contract {
        batch: SmallVec::from_slice(&[BatchDim { size: images as usize, a: 0, b: 32 * x * x, c: 64 * y * y }]),
        m: SmallVec::from_slice(&[MDim { size: outputs, a: 288, c: y * y }]),
        n: SmallVec::from_slice(&[NDim { size: y as usize, b: x, c: y }, NDim { size: y as usize, b: 1, c: 1 }]),
        k: SmallVec::from_slice(&[
            KDim { size: inputs, a: 9, b: x * x },
            KDim { size: taps[0], a: 3, b: x },
            KDim { size: taps[1], a: 1, b: 1 },
        ]),
        ..common.clone()
    };
    let weights = Contract {
        m: SmallVec::from_slice(&[MDim { size: outputs, a: y * y, c: 288 }]),
        n: SmallVec::from_slice(&[
            NDim { size: inputs, b: x * x, c: 9 },
            NDim { size: taps[0], b: x, c: 3 },
            NDim { size: taps[1], b: 1, c: 1 },
        ]),
        k: SmallVec::from_slice(&[
            KDim { size: images as usize, a: 64 * y * y, b: 32 * x * x },
            KDim { size: y as usize, a: y, b: x },
            KDim { size: y as usize, a: 1, b: 1 },
        ]),
        a: arg(y_len, false),
        c: arg(64 * 288, true),
        ..common
    };
    [forward, weights]
}

fn sample() -> Vec<Kernel> {
    let mut kernels = Vec::from(convolved().map(Kernel::Contract));
    for sizes in [[512, 512, 512], [100, 520, 36], [9, 40, 1000]] {
        kernels.push(Kernel::Contract(Contract { tf32: true, ..linear(DType::F32, sizes) }));
    }
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for sizes in [[1, 4096, 4096], [3, 100, 520], [8, 28_672, 4096], [17, 4096, 14_336], [32, 6144, 4096]] {
            kernels.push(Kernel::Contract(linear(dtype, sizes)));
        }
    }
    for dtype in [DType::F32, DType::BF16, DType::Bool, DType::I64] {
        for (outer, len, inner) in [(2, 100_000, 1), (40, 100, 1), (4, 300, 16)] {
            kernels.push(Kernel::Scan(Scan { op: ScanOp::Sum, dtype, outer, len, inner, reverse: false }));
        }
        for len in [300, 100_000] {
            kernels.push(Kernel::ArgSort(ArgSort { dtype, outer: 2, len, inner: 3, descending: true }));
            kernels.push(Kernel::TopK(TopK { dtype, outer: 8, len, inner: 1, k: 10, largest: true }));
        }
        kernels.extend([20, 500, 20_000].map(|n| Kernel::Scatter(scatter(dtype, ScatterMode::Add, n))));
        let two = |n: usize| SmallVec::from_slice(&[n, n]);
        kernels.push(Kernel::MaxPool(MaxPool {
            dtype,
            outer: 8,
            input: two(24),
            output: two(12),
            spec: PoolSpec { kernel: two(3), stride: two(2), pad: two(1), dilation: two(1) },
        }));
    }
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for sizes in [
            [4, 4, 300, 300, 64],
            [4, 2, 256, 256, 128],
            [2, 2, 256, 256, 64],
            [8, 2, 1, 1024, 128],
            [8, 1, 1, 5000, 64],
            [2, 2, 40, 50, 37],
        ] {
            for plain in [true, false] {
                let forward = attention(dtype, sizes, plain);
                if plain {
                    kernels.push(Kernel::Attention(in_pages(Attention { tf32: dtype == DType::F32, ..forward.clone() })));
                }
                if dtype == DType::F32 && plain {
                    let forward = Attention { tf32: true, ..forward.clone() };
                    kernels.push(Kernel::AttentionGrad(gradient(forward.clone())));
                    kernels.push(Kernel::Attention(forward));
                }
                kernels.push(Kernel::AttentionGrad(gradient(forward.clone())));
                kernels.push(Kernel::Attention(forward));
            }
        }
    }
    kernels
}

/// A GPU of NVIDIA's through OpenCL, whose compiler takes PTX, and through Vulkan, with cooperative matrices.
fn with_matrices() -> [Target; 2] {
    let shape = |input| FragmentShape { m: 16, n: 16, k: 16, input, sum: DType::F32 };
    let all = Target { tables: false, compute_units: 132, ..Target::interpreter() };
    let halves = vec![shape(DType::F16), shape(DType::BF16)];
    [
        Target { dialect: Dialect::OpenCl, arch: "sm_90".to_owned(), fragments: halves, ..all.clone() },
        Target { dialect: Dialect::Wgsl, f64: false, i64: false, f16: false, atomic_i64: false, fragments: vec![shape(DType::F16)], ..all },
    ]
}

/// The least that WebGPU promises.
fn least() -> Target {
    Target {
        max_threads: 256,
        max_grid: [65_535; 3],
        shared_bytes: 16 << 10,
        subgroup: None,
        max_buffers: 8,
        f64: false,
        i64: false,
        f16: false,
        tables: false,
        ..Target::interpreter()
    }
}

#[test]
fn kernels_are_valid_where_little_is_promised() {
    let target = least();
    for kernel in sample() {
        let lowered = lower(&kernel, &target).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
        for step in &lowered.steps {
            validate(&step.program, &target).unwrap_or_else(|faults| panic!("{}: {faults:?}", step.program.name));
            assert!(step.grid.iter().zip(&target.max_grid).all(|(extent, most)| extent <= most));
        }
    }
}

#[test]
fn kernels_are_collected_for_other_compilers() {
    for target in offline_targets().into_iter().chain(with_matrices()) {
        // Another dialect's compiler has the architecture's name already.
        let folder = std::env::var_os("UNIGRAD_COLLECT_KERNELS").filter(|_| target.dialect != Dialect::OpenCl);
        for kernel in sample() {
            let lowered = lower(&kernel, &target).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
            for step in &lowered.steps {
                validate(&step.program, &target).unwrap_or_else(|faults| panic!("{}: {faults:?}", step.program.name));
                let source = render(&step.program, &target).unwrap_or_else(|error| panic!("{error}"));
                if let Some(folder) = &folder {
                    collect(&source, &target, folder.as_ref()).unwrap();
                }
            }
        }
    }
}

/// `UNIGRAD_KERNELS` takes abilities from the target; what is made without them has none of the fast forms.
#[test]
fn without_a_dialects_own_words_kernels_are_plain() {
    let has_fast_forms = |target: &Target| {
        let programs = sample().into_iter().flat_map(|kernel| lower(&kernel, target).unwrap().steps);
        programs.filter(|step| !step.program.is_plain()).count()
    };
    let nvidia: Vec<Target> = offline_targets().into_iter().filter(|target| ["sm_80", "sm_90"].contains(&target.arch.as_str())).collect();
    assert_eq!(nvidia.len(), 2);
    for target in nvidia {
        assert!(has_fast_forms(&target) > 0, "{}", target.arch);
        let plain = Target { own_words: false, subgroup: None, fragments: Vec::new(), ..target };
        assert_eq!(has_fast_forms(&plain), 0, "{}", plain.arch);
    }
}
