//! `x² + 1` as a custom kernel, in every dialect and in kernel IR, on every device of this machine.

use unigrad::prelude::*;
use unigrad::tensor::Literal;

const CUDA: &str = r#"extern "C" __global__ void square_plus_one(const float* x, float* y, unsigned int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}"#;
const OPENCL: &str = "__kernel void square_plus_one(__global const float* x, __global float* y, uint n) {
    uint i = get_global_id(0);
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}";
const MSL: &str = "#include <metal_stdlib>
kernel void square_plus_one(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                            uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}";
const WGSL: &str = "struct Numbers { n: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: Numbers;
@compute @workgroup_size(64)
fn square_plus_one(@builtin(global_invocation_id) at: vec3<u32>) {
    if (at.x < numbers.n) { y[at.x] = x[at.x] * x[at.x] + 1.0; }
}";
const IR: &str = "kernel square_plus_one(x: [f32], y: mut [f32], n: u32) threads(64, 1, 1) {
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

fn sources() -> CustomKernel {
    let kernel = CustomKernel::new("square_plus_one", [64, 1, 1]);
    kernel.source("cuda", CUDA).source("hip", CUDA).source("opencl", OPENCL).source("msl", MSL).source("wgsl", WGSL)
}

fn check(kernel: &CustomKernel, device: &Device) -> Result<()> {
    let kernel = kernel.clone().with_gradient(|x, _y, dy| vec![Some(&(dy * &x[0]) * 2.0)]);
    let values: Vec<f32> = (0..1000).map(|i| i as f32 * 0.01 - 5.0).collect();
    let x = Tensor::from_slice(&values, [1000], device).requires_grad();
    let n = Literal::int(DType::U32, 1000);
    // Inside of a graph: what goes in is computed, and what comes out is used.
    let y = kernel.apply(&[&(&x * 2.0)], &[n], [1000], DType::F32, [16, 1, 1]);
    let loss = (&y * 0.5).sum(());
    loss.backward()?;
    for ((y, gradient), x) in y.to_vec::<f32>()?.into_iter().zip(x.grad().expect("a gradient").to_vec::<f32>()?).zip(values) {
        assert!((y - (4.0 * x * x + 1.0)).abs() <= 1e-4, "{x}: {y}");
        assert!((gradient - 4.0 * x).abs() <= 1e-4, "{x}: {gradient}");
    }
    Ok(())
}

#[test]
fn square_plus_one_on_every_device() -> Result<()> {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let from_source = sources();
    let from_ir = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", IR);
    for info in Device::all().devices.iter().filter(|info| info.backend != "cpu") {
        match Device::open(&info.device()) {
            Ok(device) => {
                if info.backend != "interpreter" {
                    check(&from_source, &device)?;
                }
                check(&from_ir, &device)?;
                println!("{}: both forms pass", info.device());
            }
            Err(error) => println!("SKIPPED: {}: {error}", info.device()),
        }
    }
    Ok(())
}

#[test]
fn what_is_missing_or_wrong_is_told() -> Result<()> {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let device = Device::open("interpreter:0")?;
    let x = Tensor::new([1.0f32, 2.0], &device);
    let run = |kernel: &CustomKernel| kernel.apply(&[&x], &[Literal::int(DType::U32, 2)], [2], DType::F32, [1, 1, 1]).to_vec::<f32>();
    let error = run(&sources()).unwrap_err().to_string();
    assert!(error.contains("nor kernel IR") && error.contains("cuda, hip, opencl, msl, wgsl"), "{error}");
    let error =
        run(&CustomKernel::new("k", [64, 1, 1]).source("ir", "kernel k(x: [f32]) threads(64, 1, 1) {\n  %0 = nonsense\n}")).unwrap_err();
    assert!(error.to_string().contains('2'), "names the line: {error}");
    let error = run(&CustomKernel::new("square_plus_one", [32, 1, 1]).source("ir", IR)).unwrap_err().to_string();
    assert!(error.contains("another signature"), "{error}");
    let kernel = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", IR);
    let y = kernel.apply(&[&x.clone().requires_grad()], &[Literal::int(DType::U32, 2)], [2], DType::F32, [1, 1, 1]);
    let error = y.sum(()).backward().unwrap_err().to_string();
    assert!(error.contains("no gradient") && error.contains("with_gradient"), "{error}");
    // Compilers' logs come back with their lines.
    for info in Device::all().devices.iter().filter(|info| !matches!(info.backend, "cpu" | "interpreter")) {
        let Ok(device) = Device::open(&info.device()) else { continue };
        let broken = ["cuda", "hip", "opencl", "msl", "wgsl"]
            .iter()
            .fold(CustomKernel::new("k", [1, 1, 1]), |kernel, language| kernel.source(language, "\n\nthis is no program\n"));
        let x = Tensor::new([1.0f32], &device);
        let error = broken.apply(&[&x], &[], [1], DType::F32, [1, 1, 1]).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("cannot be compiled") && error.contains('3'), "{}: {error}", info.device());
    }
    Ok(())
}
