use unigrad_tensor::{DType, Device, Fp8Recipe, Tensor, autocast_fp8, eval, grad};

#[test]
fn look() {
    unigrad_testing::register();
    let device = Device::open("cpu").unwrap();
    let data = |n: usize, m: usize| Tensor::from_vec((0..n * m).map(|i| ((i * 37 % 101) as f32 - 50.0) / 30.0).collect::<Vec<f32>>(), [n, m], &device).realize().unwrap();
    let w = data(48, 64).requires_grad();
    let x = data(32, 64).requires_grad();
    let y = autocast_fp8(&Fp8Recipe::default(), || x.tanh().linear(&w, None));
    println!("{}", eval::plan_text(&[y.expr()]).unwrap());
    let loss = y.cast(DType::F32).square().sum(());
    let g = grad(&loss, &[&w, &x]).unwrap();
    println!("{}", eval::plan_text(&[loss.expr(), g[0].expr(), g[1].expr()]).unwrap());
    println!("{:?}", g[0].to_vec::<f32>().unwrap()[..4].to_vec());
}
