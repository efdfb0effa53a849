//! A kernel of one's own, `x² + 1`, with its gradient: in the kernel IR, which every device takes. Texts in a device's own language can stand beside it.
//!
//! `cargo run --release --example custom_kernel`

use unigrad::prelude::*;
use unigrad::tensor::Literal;

const SQUARE_PLUS_ONE: &str = "kernel square_plus_one(x: [f32], y: mut [f32], n: u32) threads(64, 1, 1) {
    %0 = param n
    %1 = group.x
    %2 = thread.x
    %3 = mul u32 %1, 64
    %i = add u32 %3, %2
    %5 = lt u32 %i, %0
    if %5 {
        %6 = load f32 x[%i]
        %7 = fma f32 %6, %6, 1.0
        store y[%i], %7
    }
}";

const CUDA: &str = r#"extern "C" __global__ void square_plus_one(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}"#;

fn main() -> Result<()> {
    let device = Device::best()?;
    let n = 1000usize;
    let kernel = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", SQUARE_PLUS_ONE).source("cuda", CUDA);
    // dy/dx = 2 x.
    let kernel = kernel.with_gradient(|x, _y, dy| vec![Some(&(dy * &x[0]) * 2.0)]);

    let x = Tensor::linspace(-2.0, 2.0, n, DType::F32, &device).requires_grad();
    // An op like any other: what goes in may be computed in the same graph, and what comes out is used in it.
    let groups = n.div_ceil(64) as u32;
    let y = kernel.apply(&[&(&x * 0.5)], &[Literal::int(DType::U32, n as i64)], [n], DType::F32, [groups, 1, 1]);
    let loss = y.mean(());
    loss.backward()?;
    println!("mean of (x/2)² + 1: {:.4}", loss.item::<f32>()?);
    if let Some(gradient) = x.grad() {
        let gradient = gradient.to_vec::<f32>()?;
        println!("its gradient at the ends: {:.6} and {:.6}", gradient[0], gradient[n - 1]);
    }
    Ok(())
}
