//! Depth and width: graphs of any length are built, differentiated, evaluated and dropped on a small stack, and no kernel passes more than a
//! device takes.
//!
//! Always: in threads of 256 kB, whatever the tests themselves run in.

use unigrad_tensor::{DType, Device, Tensor, checkpoint, custom, eval, grad};

/// Bytes of stack that everything here must do with.
const STACK: usize = 256 << 10;

/// Runs a test in a small thread.
fn small(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The CPU, and the interpreter of the kernel IR.
fn both() -> [Device; 2] {
    unigrad_testing::devices();
    ["cpu", "interpreter:0"].map(|name| Device::open(name).unwrap())
}

fn leaf(values: &[f32], device: &Device) -> Tensor {
    Tensor::from_slice(values, [values.len()], device)
}

#[test]
fn tests_run_in_small_threads() {
    // Cargo sets it through the workspace's `.cargo/config.toml`; where the binary is run alone, nothing is set.
    if cfg!(unix) && std::env::var_os("CARGO").is_some() {
        let set = std::env::var("RUST_MIN_STACK").ok();
        assert_eq!(set.as_deref(), Some(STACK.to_string().as_str()), "RUST_MIN_STACK: tests must run in threads of {STACK} bytes");
    }
}

#[test]
fn a_million_ops_are_built_differentiated_and_dropped() {
    small(|| {
        for device in both() {
            let x = leaf(&[1.0, 2.0], &device).requires_grad();
            let mut y = x.clone();
            for _ in 0..500_000 {
                y = (y + &x).neg();
            }
            let loss = y.sum(());
            let gradients = grad(&loss, &[&x]).unwrap();
            assert_eq!(gradients[0].shape(), [2]);
            assert!(!format!("{:?}", gradients[0].expr()).is_empty());
            drop(gradients);
            drop(y);
            loss.backward().unwrap();
        }
    });
}

#[test]
fn twenty_thousand_ops_are_read() {
    small(|| {
        for device in both() {
            let x = leaf(&[1.0, -2.0, 0.5], &device).requires_grad();
            let mut y = x.clone();
            for _ in 0..10_000 {
                y = (y + 1.0) * 0.5;
            }
            assert_eq!(y.to_vec::<f32>().unwrap(), [1.0; 3], "{device}");
            // The gradient's chain is as long.
            let mut z = x.clone();
            for _ in 0..10_000 {
                z = z.neg() + 1.0;
            }
            z.sum(()).backward().unwrap();
            assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [1.0; 3], "{device}");
        }
    });
}

#[test]
fn reading_a_long_chain_elsewhere_needs_no_more() {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    small(|| {
        let device = both()[0];
        let mut y = leaf(&[3.0], &device);
        for _ in 0..10_000 {
            y = (y - 1.0) * 0.5;
        }
        let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
        let (mut later, mut context) = (std::pin::pin!(y.to_vec_async::<f32>()), std::task::Context::from_waker(&waker));
        let read = loop {
            match std::future::Future::poll(later.as_mut(), &mut context) {
                std::task::Poll::Ready(read) => break read.unwrap(),
                std::task::Poll::Pending => std::thread::park(),
            }
        };
        assert_eq!(read, [-1.0]);
    });
}

/// A step of a chain: keeps the shape and the dtype.
type Link = (&'static str, fn(&Tensor) -> Tensor);

/// One kind of link for each way that the compiler goes through a node.
const LINKS: &[Link] = &[
    ("unary", |x| x.neg()),
    ("binary", |x| x * 0.5 + x),
    ("cast", |x| x.cast(DType::F64).cast(DType::F32)),
    ("where", |x| x.gt(0.0).where_(x, x.neg())),
    ("reshape", |x| x.reshape([6]).neg().reshape([2, 3])),
    ("permute", |x| x.t().neg().t()),
    ("expand", |x| x.narrow(0, 0, 1).expand([2, 3]).neg()),
    ("slice", |x| x.flip(0).neg()),
    ("pad", |x| x.narrow(0, 0, 1).pad(&[(1, 0), (0, 0)])),
    ("concat", |x| Tensor::concat(&[&x.narrow(1, 1, 2), &x.narrow(1, 0, 1)], 1)),
    ("reduce", |x| x - x.mean(1).unsqueeze(1)),
    ("argmax", |x| x + x.argmax(1).cast(DType::F32).unsqueeze(1)),
    ("softmax", |x| x.softmax(1)),
    ("matmul", |x| x.matmul(&Tensor::ones([3, 3], DType::F32, &x.device().unwrap()))),
    ("gather", |x| x.gather(1, &Tensor::zeros([2, 3], DType::I64, &x.device().unwrap()))),
    ("dyn_slice", |x| x.dyn_slice(0, &Tensor::scalar(0.0, DType::I64, &x.device().unwrap()), 1).expand([2, 3]).neg()),
    ("dyn_update", |x| x.dyn_update(0, &x.narrow(0, 1, 1), &Tensor::scalar(0.0, DType::I64, &x.device().unwrap()))),
    ("cumsum", |x| x.cumsum(1)),
    ("sort", |x| x.sort(1, false).0),
    ("detach", |x| x.neg().detach()),
];

#[test]
fn chains_of_every_kind_of_op() {
    small(|| {
        let device = both()[0];
        for (name, link) in LINKS {
            let x = Tensor::from_slice(&[0.1f32, -0.2, 0.3, 0.4, 0.5, -0.6], [2, 3], &device).requires_grad();
            let mut y = x.clone();
            for _ in 0..600 {
                y = link(&y);
            }
            assert_eq!(y.to_vec::<f32>().unwrap_or_else(|error| panic!("{name}: {error}")).len(), 6, "{name}");
            if *name != "detach" {
                let gradient = grad(&y.sum(()), &[&x]).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(gradient[0].to_vec::<f32>().unwrap_or_else(|error| panic!("gradient of {name}: {error}")).len(), 6, "{name}");
            }
        }
    });
}

#[test]
fn gradients_that_hold_each_other() {
    small(|| {
        let device = both()[0];
        // Each gradient's closure holds the node before: the nodes are no inputs of each other.
        let x = leaf(&[1.0], &device).requires_grad();
        let mut last = x.clone();
        for _ in 0..100_000 {
            let held = last.clone();
            last = custom("hold", &[&x], |x| x[0].neg(), move |_, _, dy| vec![Some(dy * &held)]);
        }
        drop(last);
        let x = leaf(&[1.0], &device).requires_grad();
        let mut y = x.clone();
        for _ in 0..300 {
            y = checkpoint(|x| x[0].neg(), &[&y]);
        }
        y.sum(()).backward().unwrap();
        assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [1.0]);
    });
}

#[test]
fn a_chain_of_copies_between_devices() {
    small(|| {
        let [first, second] = both();
        let mut y = leaf(&[1.0], &first);
        for _ in 0..500 {
            y = (y.to(&second) + 1.0).to(&first);
        }
        assert_eq!(y.to_vec::<f32>().unwrap(), [501.0]);
    });
}

#[test]
fn einsum_strings_of_any_length() {
    small(|| {
        let device = both()[0];
        let x = leaf(&[1.0, 2.0], &device);
        for letters in ["i".repeat(1_000_000), "...".repeat(300_000), ",".repeat(1_000_000), "->".repeat(500_000)] {
            assert!(Tensor::einsum(&letters, &[&x]).to_vec::<f32>().is_err());
        }
        let spec = format!("{}->i", vec!["i"; 2000].join(","));
        let y = Tensor::einsum(&spec, &vec![&leaf(&[1.0, -1.0], &device); 2000]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 1.0]);
    });
}

#[test]
fn more_scalars_than_a_launch_can_pass() {
    small(|| {
        for device in unigrad_testing::devices() {
            for n in [300usize, 3000] {
                // A weighted sum: every number is a run-time scalar of its own.
                let x = leaf(&[1.0, 2.0], &device);
                let mut sum = x.zeros_like();
                for i in 0..n {
                    sum = sum + &x * Tensor::scalar(((i % 7) as f64 + 1.0) / 8.0, DType::F32, &device);
                }
                let weight: f32 = (0..n).map(|i| ((i % 7) as f32 + 1.0) / 8.0).sum();
                assert_eq!(sum.to_vec::<f32>().unwrap(), [weight, 2.0 * weight], "{n} scalars on {device}");
            }
        }
    });
}

#[test]
fn gradients_added_over_batches() {
    small(|| {
        for device in unigrad_testing::devices() {
            let n = 300;
            let w = leaf(&[1.0, 2.0, 3.0], &device).requires_grad();
            for i in 0..n {
                let scale = Tensor::scalar(((i % 5) as f64 + 1.0) / 4.0, DType::F32, &device);
                let data = leaf(&[(i % 3) as f32, 1.0, 0.5], &device);
                (&w * data * scale).sum(()).backward().unwrap();
            }
            let want: Vec<f32> =
                (0..3).map(|at| (0..n).map(|i| ((i % 5) as f32 + 1.0) / 4.0 * [(i % 3) as f32, 1.0, 0.5][at]).sum()).collect();
            assert_eq!(w.grad().unwrap().to_vec::<f32>().unwrap(), want, "on {device}");
        }
    });
}

#[test]
fn every_kernel_keeps_within_the_limits() {
    small(|| {
        unigrad_testing::devices();
        // The interpreter's second device takes 8 buffers and 1024 bytes of arguments.
        for name in ["interpreter:0", "interpreter:1"] {
            let device = Device::open(name).unwrap();
            let limits = device.limits();
            let leaves: Vec<Tensor> = (0..60).map(|i| leaf(&[i as f32, 1.0], &device)).collect();
            let number = |i: usize| Tensor::scalar(i as f64, DType::F32, &device);
            // As a chain, and as a tree whose halves both bring many.
            let chain = leaves.iter().enumerate().fold(leaves[0].clone(), |sum, (i, x)| sum + x * number(i) * number(i + 100));
            let mut tree: Vec<Tensor> = leaves.iter().enumerate().flat_map(|(i, x)| [x * number(i), x * number(i + 100)]).collect();
            while tree.len() > 1 {
                tree = tree.chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0].clone(), |a, b| a + b)).collect();
            }
            for wanted in [&chain, &tree[0]] {
                let plan = eval::plan_of(&[wanted.expr()]).unwrap();
                for launch in &plan.launches {
                    let buffers = launch.args.len().min(limits.buffers);
                    let bytes = buffers * limits.buffer_bytes + launch.scalars.len() * 8;
                    assert!(bytes <= limits.bytes, "{name}: {bytes} bytes of {}:\n{plan}", limits.bytes);
                }
            }
            let first = |x: &Tensor| x.to_vec::<f32>().unwrap()[0];
            let squares: f32 = (0..60).map(|i| (i * i) as f32).sum();
            assert_eq!(first(&tree[0]), squares + (0..60).map(|i| (i * (i + 100)) as f32).sum::<f32>(), "{name}");
            let want = (0..60).map(|i| (i * i * (i + 100)) as f32).sum::<f32>();
            assert_eq!(first(&chain), want, "{name}");
        }
    });
}

#[test]
fn fills_are_not_moved_behind_what_is_written_over_them() {
    let device = both()[0];
    let [a, b] = [2.0f32, 3.0].map(|value| Tensor::from_slice(&vec![value; 130 * 130], [130, 130], &device));
    let padded = |x: &Tensor| x.pad(&[(1, 1), (1, 1)]);
    let (left, right) = (padded(&a), padded(&b));
    Tensor::realize_all(&[&left, &right]).unwrap();
    assert_eq!(left.sum(()).item::<f32>().unwrap(), 2.0 * 16_900.0);
    assert_eq!(right.sum(()).item::<f32>().unwrap(), 3.0 * 16_900.0);
}
