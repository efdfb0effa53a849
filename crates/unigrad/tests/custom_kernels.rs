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
    // One number in every element is a tensor too, not a number of the kernel's.
    for (tensor, expected) in [(Tensor::full([1000], 3.0, DType::F32, device), 10.0), (Tensor::zeros([1000], DType::F32, device), 1.0)] {
        let y = kernel.apply(&[&tensor], &[n], [1000], DType::F32, [16, 1, 1]).to_vec::<f32>()?;
        assert!(y.iter().all(|y| *y == expected), "{device}: {:?}", &y[..3]);
    }
    Ok(())
}

#[test]
fn square_plus_one_on_every_device() -> Result<()> {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let from_source = sources();
    let from_ir = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", IR);
    for info in &Device::all().devices {
        match Device::open(&info.device()) {
            Ok(device) => {
                let compiles = !matches!(info.backend, "interpreter" | "cpu");
                if compiles {
                    check(&from_source, &device)?;
                }
                check(&from_ir, &device)?;
                println!("{}: {}", info.device(), if compiles { "both forms pass" } else { "kernel IR passes" });
            }
            Err(error) => println!("SKIPPED: {}: {error}", info.device()),
        }
    }
    Ok(())
}

#[test]
fn a_program_is_compiled_ahead_of_its_use() -> Result<()> {
    unigrad::init();
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    for info in &Device::all().devices {
        let Ok(device) = Device::open(&info.device()) else {
            println!("SKIPPED: {}: it cannot be opened", info.device());
            continue;
        };
        let from_ir = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", IR);
        let kernels = if matches!(info.backend, "interpreter" | "cpu") { vec![from_ir] } else { vec![from_ir, sources()] };
        for kernel in kernels {
            let compiled = kernel.compile(&device, &[DType::F32], &[DType::U32], DType::F32)?;
            let told = |told: Option<String>| told.unwrap_or_else(|| "not told".to_owned());
            if let Some(details) = compiled.details() {
                assert!(details.source.contains(&details.entry) && !details.language.is_empty(), "{details:?}");
            }
            let part = compiled.occupancy();
            assert!(part.is_none_or(|part| part > 0.0 && part <= 1.0), "{part:?}");
            assert_eq!(compiled.details().is_none(), info.backend == "cpu", "{}", info.device());
            // What the driver can tell, it tells.
            let has_binary = matches!(info.backend, "cuda" | "hip" | "opencl");
            assert_eq!(compiled.binary().is_some_and(|binary| !binary.is_empty()), has_binary, "{}", info.device());
            assert_eq!(part.is_some(), matches!(info.backend, "cuda" | "hip"), "{}", info.device());
            let bytes = told(compiled.binary().map(|binary| format!("{} bytes", binary.len())));
            println!("{}: {bytes}, occupancy {}", info.device(), told(part.map(|part| part.to_string())));
            check(&kernel, &device)?;
        }
        let wrong = CustomKernel::new("k", [64, 1, 1]).source("ir", "kernel k(x: [f32]) threads(64, 1, 1) {\n  %0 = nonsense\n}");
        let error = wrong.compile(&device, &[DType::F32], &[], DType::F32).unwrap_err().to_string();
        assert!(error.contains('2'), "{error}");
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
    let on_cpu = sources().apply_on(&Device::open("cpu:0")?, &[], &[], [2], DType::F32, [1, 1, 1]).to_vec::<f32>().unwrap_err().to_string();
    assert!(on_cpu.contains("no kernel IR") && on_cpu.contains("cuda, hip, opencl, msl, wgsl") && on_cpu.contains("help: add"), "{on_cpu}");
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

/// A kernel in kernel IR with one input and one output of 8 elements, run on the CPU by 2 groups of 4 threads.
fn on_cpu(body: &str) -> Result<Vec<f32>> {
    let x = Tensor::arange(0.0, 8.0, 1.0, DType::F32, &Device::open("cpu:0")?);
    let text = format!("kernel k(x: [f32], y: mut [f32]) threads(4, 1, 1) {{\n{body}\n}}");
    let kernel = CustomKernel::new("k", [4, 1, 1]).source("ir", text);
    kernel.apply(&[&(&x + 1.0)], &[], [8], DType::F32, [2, 1, 1]).to_vec()
}

const INDEX: &str = "%g = group.x\n %t = thread.x\n %f = mul u32 %g, 4\n %i = add u32 %f, %t\n";

#[test]
fn the_cpu_runs_programs_of_several_groups() -> Result<()> {
    unigrad::init();
    // Each group turns its elements around, through shared memory.
    let turned = "shared tile: [f32; 4]\n".to_owned()
        + INDEX
        + "%v = load f32 x[%i]\n store tile[%t], %v\n barrier\n %r = sub u32 3, %t\n %w = load f32 tile[%r]\n store y[%i], %w";
    assert_eq!(on_cpu(&turned)?, [4.0, 3.0, 2.0, 1.0, 8.0, 7.0, 6.0, 5.0]);
    Ok(())
}

#[test]
fn the_cpu_tells_what_a_program_does_wrong() {
    unigrad::init();
    let wrong = |body: &str, told: &[&str]| {
        let error = on_cpu(&(INDEX.to_owned() + body)).unwrap_err().to_string();
        assert!(told.iter().all(|told| error.contains(told)) && error.contains("cpu:0"), "{error}");
    };
    wrong("%j = add u32 %i, 1\n %v = load f32 x[%j]\n store y[%i], %v", &["x[8] is out of bounds", "group 1,0,0, thread 3,0,0", "help: "]);
    wrong("%v = load f32 x[%i]\n store y[%t], %v", &["race on y[0]", "store y[%", "help: "]);
    // The validator's arrow.
    wrong("%low = lt u32 %t, 2\n if %low {\n barrier\n }\n store y[%i], 0.0", &["^", "barrier", "help: "]);
    wrong("store x[%i], 0.0\n store y[%i], 0.0", &["^", "x", "help: "]);
}

#[test]
fn a_program_cannot_write_its_inputs() -> Result<()> {
    unigrad::init();
    let x = Tensor::new([1.0f32], &Device::open("cpu:0")?);
    let text = "kernel k(x: mut [f32], y: mut [f32]) threads(1, 1, 1) {\n store x[0], 2.0\n store y[0], 2.0\n}";
    let y = CustomKernel::new("k", [1, 1, 1]).source("ir", text).apply(&[&x], &[], [1], DType::F32, [1, 1, 1]);
    let error = y.to_vec::<f32>().unwrap_err().to_string();
    assert!(error.contains("(mut [f32], mut [f32])") && error.contains("help: "), "{error}");
    Ok(())
}

#[test]
fn inputs_may_be_views_and_one_tensor_twice() -> Result<()> {
    unigrad::init();
    let device = Device::open("cpu:0")?;
    let text = "kernel k(a: [f32], b: [f32], y: mut [f32]) threads(6, 1, 1) {\n %i = thread.x\n %v = load f32 a[%i]\n \
                %w = load f32 b[%i]\n %s = sub f32 %v, %w\n store y[%i], %s\n}";
    let kernel = CustomKernel::new("k", [6, 1, 1]).source("ir", text);
    let run = |a: &Tensor, b: &Tensor| kernel.apply(&[a, b], &[], [6], DType::F32, [1, 1, 1]).to_vec::<f32>();
    let x = Tensor::arange(0.0, 6.0, 1.0, DType::F32, &device).reshape([2, 3]);
    assert_eq!(run(&x, &x)?, [0.0; 6]);
    assert_eq!(run(&x.t(), &Tensor::new([1.0f32; 6], &device))?, [-1.0, 2.0, 0.0, 3.0, 1.0, 4.0]);
    Ok(())
}

#[test]
fn errors_name_the_line_that_made_the_kernel_or_the_pass() -> Result<()> {
    unigrad::init();
    let device = Device::open("cpu:0")?;
    let x = Tensor::new([1.0f32, 2.0], &device).requires_grad();
    let kernel = CustomKernel::new("square_plus_one", [64, 1, 1]).source("IR", IR);
    let n = [Literal::int(DType::U32, 2)];
    // Two groups write the same elements: an error of the launch, with a gradient and without.
    let racing = IR.replace("mul u32 %1, 64", "mul u32 %1, 0");
    let racing = CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", racing);
    for racing in [racing.clone(), racing.with_gradient(|_, _, dy| vec![Some(dy.clone())])] {
        let error = racing.apply(&[&x], &n, [2], DType::F32, [2, 1, 1]).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("race") && error.contains("custom_kernels.rs"), "{error}");
    }
    let error = kernel.apply(&[&x], &[], [2], DType::F32, [1, 1, 1]).to_vec::<f32>().unwrap_err().to_string();
    assert!(error.contains("another signature") && error.contains("custom_kernels.rs"), "{error}");
    let error = kernel.apply(&[&x], &n, [2], DType::F32, [1, 1, 1]).sum(()).backward().unwrap_err().to_string();
    assert!(error.contains("no gradient") && !error.contains("unigrad-graph") && error.contains("custom_kernels.rs"), "{error}");
    // A gradient belongs where its input is.
    unigrad::device::register(unigrad_interpreter::InterpreterDriver::default());
    let other = Device::open("interpreter:0")?;
    let stray = kernel.with_gradient(move |_, _, dy| vec![Some(dy.to(&other))]);
    let error = stray.apply(&[&x], &n, [2], DType::F32, [1, 1, 1]).sum(()).backward().unwrap_err().to_string();
    assert!(error.contains("another device") && error.contains("custom_kernels.rs"), "{error}");
    Ok(())
}

#[test]
fn an_empty_source_is_refused() -> Result<()> {
    unigrad::init();
    for info in Device::all().devices.iter().filter(|info| !matches!(info.backend, "cpu" | "interpreter")) {
        let Ok(device) = Device::open(&info.device()) else { continue };
        let empty = ["cuda", "hip", "opencl", "msl", "wgsl"].iter().fold(CustomKernel::new("k", [1, 1, 1]), |k, name| k.source(name, ""));
        let error = empty.apply_on(&device, &[], &[], [1], DType::F32, [1, 1, 1]).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("is empty"), "{}: {error}", info.device());
    }
    Ok(())
}

#[test]
fn a_grid_beyond_all_devices_is_an_error() -> Result<()> {
    unigrad::init();
    for info in Device::all().devices.iter().filter(|info| !matches!(info.backend, "cpu" | "interpreter")) {
        let Ok(device) = Device::open(&info.device()) else { continue };
        for kernel in [sources(), CustomKernel::new("square_plus_one", [64, 1, 1]).source("ir", IR)] {
            let x = Tensor::new([1.0f32, 2.0], &device);
            let y = kernel.apply(&[&x], &[Literal::int(DType::U32, 2)], [2], DType::F32, [u32::MAX; 3]);
            let error = y.to_vec::<f32>().unwrap_err().to_string();
            assert!(error.contains("square_plus_one failed") && error.contains("custom_kernels.rs"), "{device}: {error}");
            assert_eq!((&x + 1.0).to_vec::<f32>()?, [2.0, 3.0]);
        }
    }
    Ok(())
}
