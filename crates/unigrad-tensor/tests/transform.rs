//! Transforms of functions against each other and against differences.

use unigrad_tensor::{DType, Device, Tensor, hessian, jacobian, jvp, vjp};

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

fn leaf(values: &[f64], device: &Device) -> Tensor {
    Tensor::from_slice(values, [values.len()], device)
}

/// Of everything a network has: products, rows, choices, indices.
fn function(x: &[Tensor]) -> Vec<Tensor> {
    let matrix = x[0].reshape([2, 3]);
    let y = matrix.matmul(&x[1].reshape([3, 2])).softmax(-1);
    let z = (&x[0] * x[1].sin()).cumsum(0).roll(2, 0).relu();
    vec![y, z.logcumsumexp(0)]
}

#[test]
fn both_products_are_those_of_the_jacobian() {
    let device = device();
    let a = leaf(&[0.3, -1.2, 0.7, 2.0, -0.4, 0.9], &device);
    let b = leaf(&[1.1, 0.2, -0.8, 0.5, 1.7, -0.3], &device);
    let (da, db) = (leaf(&[1.0, 0.5, -1.0, 2.0, 0.0, 0.25], &device), leaf(&[0.0, -1.0, 0.5, 1.0, 0.3, 2.0], &device));
    let (outputs, changes) = jvp(function, &[&a, &b], &[&da, &db]).unwrap();
    // Against differences.
    let h = 1e-6;
    let moved = |h: f64| function(&[&a + &da * h, &b + &db * h]);
    for ((change, up), down) in changes.iter().zip(moved(h)).zip(moved(-h)) {
        let want = ((up - down) / (2.0 * h)).to_vec::<f64>().unwrap();
        for (got, want) in change.to_vec::<f64>().unwrap().into_iter().zip(want) {
            assert!((got - want).abs() < 1e-8 * want.abs().max(1.0), "{got}, by differences {want}");
        }
    }
    // <dy, J dx> is the same from both sides.
    let dy: Vec<Tensor> = outputs.iter().map(|y| (y * 1.5).cos()).collect();
    let (_, dx) = vjp(function, &[&a, &b], &dy.iter().collect::<Vec<_>>()).unwrap();
    let right: f64 = dy.iter().zip(&changes).map(|(dy, change)| (dy * change).sum(()).item::<f64>().unwrap()).sum();
    let left: f64 = dx.iter().zip([&da, &db]).map(|(dx, d)| (dx * d).sum(()).item::<f64>().unwrap()).sum();
    assert!((left - right).abs() < 1e-12 * left.abs().max(1.0), "{left}, {right}");
    // And of the whole matrix.
    let j = jacobian(|x| function(&[x.clone(), b.clone()])[0].clone(), &a).unwrap();
    assert_eq!(j.shape(), [2, 2, 6]);
    let (_, along) = jvp(|x| vec![function(&[x[0].clone(), b.clone()])[0].clone()], &[&a], &[&da]).unwrap();
    let product = j.reshape([4, 6]).matmul(&da).to_vec::<f64>().unwrap();
    for (got, want) in product.into_iter().zip(along[0].to_vec::<f64>().unwrap()) {
        assert!((got - want).abs() < 1e-12, "{got}, {want}");
    }
}

#[test]
fn a_hessian_is_symmetric_and_what_differences_say() {
    let device = device();
    let x = leaf(&[0.3, -1.2, 0.7], &device);
    let f = |x: &Tensor| (x.exp() * x.roll(1, 0)).sum(()) + x.prod(()).square();
    let h = hessian(f, &x).unwrap().to_vec2::<f64>().unwrap();
    let g = |x: &Tensor| unigrad_tensor::grad(&f(x), &[x]).unwrap().remove(0).to_vec::<f64>().unwrap();
    for j in 0..3 {
        let mut step = [0.0; 3];
        step[j] = 1e-6;
        let step = leaf(&step, &device);
        let (up, down) = (g(&(&x + &step)), g(&(&x - &step)));
        for i in 0..3 {
            let want = (up[i] - down[i]) / 2e-6;
            assert!((h[i][j] - want).abs() < 1e-7 && (h[i][j] - h[j][i]).abs() < 1e-12, "{h:?} at {i}, {j}: {want}");
        }
    }
}

#[test]
fn what_does_not_depend_has_derivative_0_and_mistakes_are_told() {
    let device = device();
    let x = leaf(&[1.0, 2.0], &device);
    let constant = |_: &Tensor| Tensor::ones([3], DType::F64, &device);
    assert_eq!(jacobian(constant, &x).unwrap().to_vec::<f64>().unwrap(), [0.0; 6]);
    assert_eq!(hessian(|x| x.sum(()), &x).unwrap().to_vec::<f64>().unwrap(), [0.0; 4]);
    let (_, change) = jvp(|x| vec![x[0].gt(0.0), x[0].clone()], &[&x], &[&x]).unwrap();
    assert_eq!(change[1].to_vec::<f64>().unwrap(), [1.0, 2.0]);
    let three = leaf(&[1.0, 2.0, 3.0], &device);
    for error in [
        jvp(|x| x.to_vec(), &[&x], &[]).unwrap_err(),
        jvp(|x| x.to_vec(), &[&x], &[&three]).unwrap_err(),
        vjp(|x| x.to_vec(), &[&x], &[]).unwrap_err(),
        vjp(|x| x.to_vec(), &[&x], &[&three]).unwrap_err(),
        jacobian(|x| x.reshape([7]), &x).unwrap_err(),
        hessian(|x| x.square(), &x).unwrap_err(),
        jacobian(|x| x.expand([1 << 17, 2]), &x).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains("help: ") && text.contains("transform.rs"), "{text}");
        assert!(!text.contains("src/transform.rs"), "{text}");
    }
}

/// A gradient would end at what is assigned: it is refused, and not lost.
#[test]
fn what_is_differentiated_is_not_assigned() {
    let device = device();
    let x = Tensor::new([1.0f32, 2.0], &device);
    let kept = Tensor::new([0.0f32, 0.0], &device);
    let assigns = |value: &dyn Fn(&Tensor) -> Tensor| {
        let mut answer = Ok(());
        let function = |x: &[Tensor]| {
            answer = kept.assign(&value(&x[0]));
            vec![x[0].square()]
        };
        let (_, dx) = vjp(function, &[&x], &[&x.ones_like()]).unwrap();
        assert_eq!(dx[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
        answer.map_err(|error| error.to_string())
    };
    assert!(assigns(&|x| x * 2.0).unwrap_err().contains("a gradient, which would end here"));
    assert_eq!(kept.to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assigns(&|x| x.detach() * 2.0).unwrap();
    assert_eq!(kept.to_vec::<f32>().unwrap(), [2.0, 4.0]);
    // What does not depend on it may be assigned, and anything may after the function.
    assigns(&|_| x.ones_like()).unwrap();
    kept.assign(&(&x * 3.0)).unwrap();
    assert_eq!(kept.to_vec::<f32>().unwrap(), [3.0, 6.0]);
}
