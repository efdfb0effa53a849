//! `vmap` with other transforms, axes, sizes, random numbers, gradients of the user's own. The op table is mapped in `crates/unigrad-testing/tests/vmap_ops.rs`.

use unigrad_tensor::{
    CustomKernel, DType, Device, Generator, Literal, Randomness, Tensor, VmapOptions, checkpoint, custom, grad, grad_with, hessian,
    jacobian, jvp, manual_seed, no_grad, vjp, vmap, vmap_with,
};

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn leaf(shape: &[usize], device: &Device) -> Tensor {
    let values: Vec<f64> = (0..shape.iter().product()).map(|i| ((i * 37 + 11) % 29) as f64 / 13.0 - 1.0).collect();
    Tensor::from_slice(&values, shape, device)
}

fn one(mut results: Vec<Tensor>) -> Tensor {
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[track_caller]
fn same(got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape());
    for (got, want) in got.to_vec::<f64>().unwrap().into_iter().zip(want.to_vec::<f64>().unwrap()) {
        assert!((got - want).abs() <= 1e-11 * want.abs().max(1.0), "{got}, expected {want}");
    }
}

/// `f` of each slice along axis 0, side by side.
fn each(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let slices: Vec<Tensor> = (0..x.shape()[0]).map(|i| f(&x.select(0, i as i64))).collect();
    Tensor::stack(&slices.iter().collect::<Vec<_>>(), 0)
}

/// Some of everything.
fn function(x: &Tensor, w: &Tensor) -> Tensor {
    let y = x.matmul(w).softmax(-1);
    (y.cumsum(0) * x.narrow(1, 0, 2).sin()).layer_norm(None, None, 1e-5) + x.max(()).unsqueeze(0)
}

#[test]
fn axes_count_from_both_ends() {
    let device = device();
    let (x, w) = (leaf(&[4, 3, 5], &device), leaf(&[3, 2], &device));
    let all: Vec<Tensor> = (0..5).map(|i| function(&x.select(2, i), &w)).collect();
    let all: Vec<&Tensor> = all.iter().collect();
    for (in_axis, out_axis, to) in [(2, 0, 0), (-1, 1, 1), (2, -1, 2), (-1, -3, 0)] {
        let options = VmapOptions { in_axes: vec![Some(in_axis), None], out_axes: vec![Some(out_axis)], ..VmapOptions::default() };
        let got = one(vmap_with(|x| vec![function(&x[0], &x[1])], &[&x, &w], &options).unwrap());
        same(&got, &Tensor::stack(&all, to));
    }
    // A result that is the same for all slices: repeated, or once.
    let by_each = one(vmap(|_| vec![w.clone()], &[&x]).unwrap());
    same(&by_each, &w.unsqueeze(0).expand([4, 3, 2]));
    let options = VmapOptions { out_axes: vec![None], ..VmapOptions::default() };
    same(&one(vmap_with(|_| vec![w.square()], &[&x], &options).unwrap()), &w.square());
}

#[test]
fn no_slice_and_one_slice() {
    let device = device();
    let w = leaf(&[3, 2], &device).requires_grad();
    let kernel = leaf(&[4, 2, 3], &device).requires_grad();
    for n in [0usize, 1] {
        let x = leaf(&[n, 2, 3], &device).requires_grad();
        let y = one(vmap(|x| vec![function(&x[0], &w)], &[&x]).unwrap());
        assert_eq!(y.shape(), [n, 2, 2]);
        let gradients = grad(&y.sum(()), &[&x, &w]).unwrap();
        assert_eq!(gradients[0].shape(), [n, 2, 3]);
        let want = if n == 0 { w.zeros_like() } else { grad(&function(&x.select(0, 0), &w).sum(()), &[&w]).unwrap().remove(0) };
        same(&gradients[1], &want);
        // A convolution of slices with weights of slices, its gradients, pooling, attention.
        let image = leaf(&[n, 2, 2, 7], &device).requires_grad();
        let weights = leaf(&[n, 4, 2, 3], &device).requires_grad();
        let y = one(vmap(|x| vec![x[0].conv1d(&x[1], None, &Default::default())], &[&image, &weights]).unwrap());
        assert_eq!(y.shape(), [n, 2, 4, 5]);
        let gradients = grad(&y.square().sum(()), &[&image, &weights]).unwrap();
        assert_eq!(gradients.iter().map(Tensor::numel).collect::<Vec<_>>(), [n * 28, n * 24]);
        Tensor::realize_all(&gradients.iter().collect::<Vec<_>>()).unwrap();
        let y = one(vmap(
            |x| vec![x[0].conv1d(&kernel, None, &Default::default()).max_pool1d(&unigrad_tensor::PoolOptions::new(2))],
            &[&image],
        )
        .unwrap());
        let of_kernel = grad(&y.sum(()), &[&kernel]).unwrap().remove(0).to_vec::<f64>().unwrap();
        assert!(n == 1 || of_kernel.iter().all(|value| *value == 0.0));
        let q = leaf(&[n, 1, 2, 3, 4], &device);
        let y = one(vmap(|x| vec![x[0].attention(&x[0], &x[0], &Default::default())], &[&q]).unwrap());
        assert_eq!(y.to_vec::<f64>().unwrap().len(), n * 24);
    }
}

#[test]
fn a_convolution_with_one_window_and_elements_left_over_is_mapped() {
    let device = device();
    let image = leaf(&[3, 1, 2, 4, 3], &device).requires_grad();
    let kernel = leaf(&[4, 2, 3, 4], &device).requires_grad();
    let options = unigrad_tensor::ConvOptions::new(2, 1);
    let function = |x: &Tensor, w: &Tensor| x.conv2d(w, None, &options);
    let y = one(vmap(|x| vec![function(&x[0], &kernel)], &[&image]).unwrap());
    assert_eq!(y.shape(), [3, 1, 4, 2, 1]);
    let each: Vec<Tensor> = (0..3).map(|i| function(&image.select(0, i), &kernel)).collect();
    let stacked = Tensor::stack(&each.iter().collect::<Vec<_>>(), 0);
    same(&y, &stacked);
    let (got, wanted) =
        (grad(&y.square().sum(()), &[&image, &kernel]).unwrap(), grad(&stacked.square().sum(()), &[&image, &kernel]).unwrap());
    got.iter().zip(&wanted).for_each(|(got, wanted)| same(got, wanted));
}

#[test]
fn maps_nest() {
    let device = device();
    let (x, y) = (leaf(&[3, 4], &device), leaf(&[5, 4], &device));
    // All pairs of rows.
    let table = vmap(|x| vmap(|y| vec![(&x[0] * &y[0]).sum(()) / (1.0 + y[0].square().sum(()))], &[&y]).unwrap(), &[&x]);
    let want = x.matmul(&y.t()) / (1.0 + y.square().sum(1)).unsqueeze(0);
    same(&one(table.unwrap()), &want);
    // An inner map over another axis of the same tensor, its result moved.
    let options = VmapOptions { in_axes: vec![Some(-1)], out_axes: vec![Some(-1)], ..VmapOptions::default() };
    let cube = leaf(&[3, 4, 2], &device);
    let got = vmap(|x| vmap_with(|column| vec![column[0].softmax(0).cumprod(0)], &[&x[0]], &options).unwrap(), &[&cube]);
    same(&one(got.unwrap()), &cube.softmax(1).cumprod(1));
}

#[test]
fn gradients_of_each_sample() {
    let device = device();
    let (x, target) = (leaf(&[6, 2, 5, 5], &device), Tensor::new([0i64, 1, 2, 2, 1, 0], &device));
    let kernel = leaf(&[4, 2, 3, 3], &device);
    let head = leaf(&[3, 4], &device);
    let loss = |x: &Tensor, target: &Tensor, kernel: &Tensor, head: &Tensor| {
        let y = x.unsqueeze(0).conv2d(kernel, None, &Default::default()).relu().mean([2, 3]);
        y.matmul(&head.t()).cross_entropy(&target.unsqueeze(0))
    };
    let gradients = |x: &Tensor, target: &Tensor| {
        let (kernel, head) = (kernel.mul(1.0), head.mul(1.0));
        grad(&loss(x, target, &kernel, &head), &[&kernel, &head]).unwrap()
    };
    let got = vmap(|x| gradients(&x[0], &x[1]), &[&x, &target]).unwrap();
    for (k, got) in got.iter().enumerate() {
        let each: Vec<Tensor> = (0..6).map(|i| gradients(&x.select(0, i), &target.select(0, i)).remove(k)).collect();
        same(got, &Tensor::stack(&each.iter().collect::<Vec<_>>(), 0));
    }
}

#[test]
fn with_the_other_transforms() {
    let device = device();
    let x = leaf(&[4, 3], &device);
    let f = |x: &Tensor| (x.exp() * x.roll(1, 0)).sum(()) + x.prod(()).square();
    // A Hessian: a product with it for each direction.
    let hessian_of = |x: &Tensor| {
        let directions = Tensor::eye(3, 3, DType::F64, &device);
        let product = |v: &[Tensor]| jvp(|x| vec![grad(&f(&x[0]), &[&x[0]]).unwrap().remove(0)], &[x], &[&v[0]]).unwrap().1;
        one(vmap(product, &[&directions]).unwrap())
    };
    let first = x.select(0, 0);
    same(&hessian_of(&first), &hessian(f, &first).unwrap());
    // Of each row, the other way around as well.
    let want = each(&x, |x| hessian(f, x).unwrap());
    same(&one(vmap(|x| vec![hessian(f, &x[0]).unwrap()], &[&x]).unwrap()), &want);
    same(&one(vmap(|x| vec![hessian_of(&x[0])], &[&x]).unwrap()), &want);
    let g = |x: &Tensor| x.cumsum(0).sin() * x.max(0);
    same(&one(vmap(|x| vec![jacobian(g, &x[0]).unwrap()], &[&x]).unwrap()), &each(&x, |x| jacobian(g, x).unwrap()));
    let dy = leaf(&[4, 3], &device).neg();
    let pulled = vmap(|x| vjp(|x| vec![g(&x[0])], &[&x[0]], &[&x[1]]).unwrap().1, &[&x, &dy]).unwrap();
    let (_, want) = vjp(|x| vec![each(&x[0], g)], &[&x], &[&dy]).unwrap();
    same(&one(pulled), &want[0]);
    // Through a map: forwards, backwards, twice.
    let mapped = |x: &Tensor| one(vmap(|x| vec![f(&x[0])], &[x]).unwrap());
    let by_loop = |x: &Tensor| each(x, f);
    let along = |f: &dyn Fn(&Tensor) -> Tensor| jvp(|x| vec![f(&x[0])], &[&x], &[&dy]).unwrap().1.remove(0);
    same(&along(&mapped), &along(&by_loop));
    let twice = |f: &dyn Fn(&Tensor) -> Tensor| {
        let x = x.mul(1.0);
        let first = grad(&f(&x).sum(()), &[&x]).unwrap().remove(0);
        grad(&first.square().sum(()), &[&x]).unwrap().remove(0)
    };
    same(&twice(&mapped), &twice(&by_loop));
}

#[test]
fn variables_and_parts_without_gradients() {
    let device = device();
    let x = leaf(&[3, 4], &device).requires_grad();
    let w = leaf(&[4], &device).requires_grad();
    let f = |x: &Tensor| (x * &w + no_grad(|| x.exp()) + x.detach().square()).sum(());
    one(vmap(|x| vec![f(&x[0])], &[&x]).unwrap()).sum(()).backward().unwrap();
    let got = [x.grad().unwrap(), w.grad().unwrap()];
    same(&got[0], &w.detach().unsqueeze(0).expand([3, 4]));
    same(&got[1], &x.detach().sum(0));
}

#[test]
fn gradients_of_the_users_own() {
    let device = device();
    let x = leaf(&[3, 4], &device).requires_grad();
    let w = leaf(&[4], &device).requires_grad();
    // What it has captured differs between slices too; and it is no gradient of the value.
    let f = |x: &Tensor| {
        let captured = (x * 2.0).detach();
        let y =
            custom("own", &[x, &w], |x| x[0].sin() * &x[1], move |x, y, dy| vec![Some(dy * &captured + y), Some(dy * &x[0] * &captured)]);
        y.square().sum(())
    };
    let compare = |f: &dyn Fn(&Tensor) -> Tensor| {
        let mapped = one(vmap(|x| vec![f(&x[0])], &[&x]).unwrap());
        let want = each(&x, f);
        same(&mapped, &want);
        let [got, want] = [mapped, want].map(|y| grad(&y.sum(()), &[&x, &w]).unwrap());
        got.iter().zip(&want).for_each(|(got, want)| same(got, want));
        // Within the map, for each slice; and a map of maps.
        let within = |x: &[Tensor]| {
            let x = x[0].mul(1.0);
            grad(&f(&x), &[&x]).unwrap()
        };
        let want = Tensor::stack(&(0..3).map(|i| within(&[x.select(0, i)]).remove(0)).collect::<Vec<_>>().iter().collect::<Vec<_>>(), 0);
        same(&one(vmap(within, &[&x]).unwrap()), &want);
        let nested = one(vmap(|x| vmap(|x| vec![f(&x[0])], &[&x[0]]).unwrap(), &[&x.unsqueeze(0)]).unwrap());
        let [got, want] = [nested, each(&x, f)].map(|y| grad(&y.sum(()), &[&x, &w]).unwrap());
        got.iter().zip(&want).for_each(|(got, want)| same(got, want));
    };
    compare(&f);
    // Captured by a block that is run again, and scattered products, whose gradient is stated by a formula.
    let captured = w.clone();
    compare(&move |x: &Tensor| {
        let (scale, w) = (x.exp(), captured.clone());
        checkpoint(move |x| (&x[0] * &scale * &w).sin().sum(()), &[x])
    });
    let index = Tensor::new([0i64, 1, 1, 0], &device);
    compare(&|x: &Tensor| {
        w.narrow(0, 0, 2).scatter_reduce(0, &index, x, unigrad_tensor::ScatterReduce::Prod, true).square().sum(()) + w.sum(()) * 0.0
    });
}

#[test]
fn kernels_of_the_user_run_slice_by_slice() {
    let device = device();
    let kernel = CustomKernel::new("twice", [4, 1, 1])
        .source(
            "ir",
            "kernel twice(x: [f32], w: [f32], y: mut [f32], n: u32) threads(4, 1, 1) {
                %0 = param n
                %1 = thread.x
                %2 = lt u32 %1, %0
                if %2 {
                    %3 = load f32 x[%1]
                    %4 = load f32 w[%1]
                    %5 = mul f32 %3, %4
                    store y[%1], %5
                }
            }",
        )
        .with_gradient(|x, _, dy| vec![Some(dy * &x[1]), Some(dy * &x[0])]);
    let x = leaf(&[5, 4], &device).cast(DType::F32);
    let w = leaf(&[4], &device).cast(DType::F32);
    let f = |x: &Tensor| kernel.apply(&[x, &w], &[Literal::int(DType::U32, 4)], [4], DType::F32, [1, 1, 1]);
    let y = one(vmap(|x| vec![f(&x[0])], &[&x]).unwrap());
    let gradients = grad(&y.square().sum(()), &[&x, &w]).unwrap();
    let want = grad(&(&x * &w).square().sum(()), &[&x, &w]).unwrap();
    gradients.iter().zip(&want).for_each(|(got, want)| {
        let [got, want] = [got, want].map(|x| x.to_vec::<f32>().unwrap());
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} {want:?}");
    });
    same(&y.cast(DType::F64), &(&x * &w).cast(DType::F64));
    let empty = one(vmap(|x| vec![f(&x[0])], &[&x.narrow(0, 0, 0)]).unwrap());
    assert_eq!(empty.shape(), [0, 4]);
    empty.realize().unwrap();
}

#[test]
fn random_numbers_are_an_error_the_same_or_each_slices_own() {
    let device = device();
    let x = leaf(&[3, 4], &device);
    let draw = |x: &Tensor| x + Tensor::rand([4], DType::F64, &x.device().unwrap());
    let with = |randomness| VmapOptions { randomness, ..VmapOptions::default() };
    let error = vmap(|x| vec![draw(&x[0])], &[&x]).unwrap_err().to_string();
    assert!(error.contains("random numbers") && error.contains("Randomness::Different"), "{error}");
    let drawn = |randomness, n: usize| {
        manual_seed(5);
        let y = one(vmap_with(|x| vec![(0..n).fold(x[0].clone(), |x, _| draw(&x))], &[&x], &with(randomness)).unwrap()) - &x;
        // What is drawn afterwards is new.
        (y, Tensor::rand([4], DType::F64, &device))
    };
    let (different, next) = drawn(Randomness::Different, 1);
    let all: Vec<f64> = different.flatten_all().to_vec::<f64>().unwrap().into_iter().chain(next.to_vec::<f64>().unwrap()).collect();
    for (i, a) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|b| (a - b).abs() > 1e-9), "{a} was drawn twice");
    }
    let (equal, _) = drawn(Randomness::Same, 1);
    same(&equal, &equal.narrow(0, 0, 1).expand([3, 4]));
    // Dropout of attention, a map of maps, a generator of its own, a block that is run again: numbers of their own, and gradients of the same ones.
    let (different, _) = drawn(Randomness::Different, 2);
    assert!((different.select(0, 0) - different.select(0, 1)).abs().max(()).item::<f64>().unwrap() > 1e-3);
    let generator = Generator::new(3);
    let own =
        |randomness| one(vmap_with(|x| vec![&x[0] * 0.0 + generator.rand([4], DType::F64, &device)], &[&x], &with(randomness)).unwrap());
    let rows = own(Randomness::Different).to_vec2::<f64>().unwrap();
    assert!(rows[0] != rows[1] && rows[1] != rows[2]);
    let x = leaf(&[3, 40], &device);
    for randomness in [Randomness::Different, Randomness::Same] {
        let block = |x: &[Tensor]| vec![checkpoint(|x| x[0].dropout(0.5), &[&x[0]]), x[0].clone()];
        let (y, dx) = vjp(|x| vec![vmap_with(block, &[&x[0]], &with(randomness)).unwrap().remove(0)], &[&x], &[&x.ones_like()]).unwrap();
        same(&y[0], &(&x * &dx[0]));
        let rows = dx[0].to_vec2::<f64>().unwrap();
        assert_eq!(rows[0] == rows[1], randomness == Randomness::Same);
        assert!(rows.iter().flatten().any(|kept| *kept == 0.0) && rows.iter().flatten().any(|kept| *kept == 2.0));
    }
    let nested = vmap_with(
        |x| vmap_with(|x| vec![&x[0] * 0.0 + Tensor::rand([2], DType::F64, &device)], &[&x[0]], &with(Randomness::Different)).unwrap(),
        &[&leaf(&[3, 5, 2], &device)],
        &with(Randomness::Different),
    );
    let mut all = one(nested.unwrap()).flatten_all().to_vec::<f64>().unwrap();
    all.sort_by(f64::total_cmp);
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] > 1e-9), "some of 30 are drawn twice: {all:?}");
    // What was drawn outside is one tensor for all slices, in a product with the Jacobian too.
    let noise = Tensor::rand([4], DType::F64, &device);
    let x = leaf(&[4], &device);
    let y = checkpoint(|x| x[0].dropout(0.5), &[&x]) * noise;
    let basis = Tensor::eye(4, 4, DType::F64, &device);
    let rows = one(vmap(|dy| grad_with(&y, &dy[0], &[&x]).unwrap(), &[&basis]).unwrap());
    same(&rows, &jacobian_by_rows(&y, &x));
}

fn jacobian_by_rows(y: &Tensor, x: &Tensor) -> Tensor {
    let rows: Vec<Tensor> = (0..y.numel()).map(|i| grad(&y.select(0, i as i64), &[x]).unwrap().remove(0)).collect();
    Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0)
}

#[test]
fn mistakes_are_errors_that_name_the_remedy() {
    let device = device();
    let (x, y) = (leaf(&[3, 4], &device), leaf(&[2, 4], &device));
    let sum = |x: &[Tensor]| vec![x.iter().fold(x[0].zeros_like(), |sum, x| sum + x)];
    let axes = |in_axes: &[Option<isize>], out_axes: &[Option<isize>]| VmapOptions {
        in_axes: in_axes.to_vec(),
        out_axes: out_axes.to_vec(),
        ..VmapOptions::default()
    };
    let says = |result: Result<Vec<Tensor>, unigrad_tensor::Error>, what: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("help"), "{error}");
    };
    says(vmap(sum, &[&x, &y]), "3 slices of one input, 2 of another");
    says(vmap(sum, &[]), "no input is mapped");
    says(vmap_with(sum, &[&x], &axes(&[None], &[])), "no input is mapped");
    says(vmap_with(sum, &[&x], &axes(&[Some(2)], &[])), "axis 2");
    says(vmap_with(sum, &[&x], &axes(&[Some(0), None], &[])), "2 axes for 1 inputs");
    says(vmap_with(sum, &[&x], &axes(&[], &[Some(2)])), "axis 2");
    says(vmap_with(sum, &[&x], &axes(&[], &[None])), "is to be the same for all slices");
    says(vmap(|x| vec![x[0].matmul(&x[0].unsqueeze(0))], &[&x]), "matmul");
    // A read within, a value that has left the function, an assignment.
    let mut left = None;
    let read = vmap(
        |x| {
            assert!(x[0].sum(()).item::<f64>().unwrap_err().to_string().contains("stands for an argument"));
            left = Some(x[0].exp());
            vec![x[0].square()]
        },
        &[&x],
    );
    same(&one(read.unwrap()), &x.square());
    assert!(left.unwrap().to_vec::<f64>().unwrap_err().to_string().contains("return from it"));
    let (state, calls) = (leaf(&[4], &device), leaf(&[1], &device));
    let before = state.to_vec::<f64>().unwrap();
    says(
        vmap(
            |x| {
                state.assign(&(&state * 0.5 + &x[0])).unwrap();
                calls.assign(&(&calls + 1.0)).unwrap();
                vec![x[0].clone()]
            },
            &[&x],
        ),
        "assigns to a tensor",
    );
    assert_eq!(state.to_vec::<f64>().unwrap(), before);
    // Other assignments stay.
    assert_eq!(calls.item::<f64>().unwrap(), leaf(&[1], &device).item::<f64>().unwrap() + 1.0);
}

#[test]
fn a_graph_of_any_depth_is_mapped() {
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(|| {
            let device = device();
            let x = leaf(&[2, 3], &device);
            let y = one(vmap(|x| vec![(0..20_000).fold(x[0].clone(), |x, _| x + 1e-3)], &[&x]).unwrap());
            assert!((y.to_vec::<f64>().unwrap()[0] - (x.to_vec::<f64>().unwrap()[0] + 20.0)).abs() < 1e-6);
        })
        .unwrap()
        .join()
        .unwrap();
}
