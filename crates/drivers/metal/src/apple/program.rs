//! Programs: MSL, compiled by Metal at run time. The system keeps compiled pipelines between processes, so nothing is cached here.

use super::describe::{ARGUMENTS, SIMD_WIDTH};
use crate::facts;
use objc2::{rc::Retained, runtime::ProtocolObject};
use objc2_foundation::NSString;
use objc2_metal::{MTLCompileOptions, MTLComputePipelineState, MTLDevice, MTLFunction as _, MTLFunctionType, MTLLibrary};
use unigrad_ir::{Param, Program, Source, Target};

/// A program that can be launched.
#[derive(Debug)]
pub struct Module {
    /// For messages.
    pub(super) name: String,
    pub(super) pipeline: Retained<ProtocolObject<dyn MTLComputePipelineState>>,
    /// Threads of a workgroup.
    pub(super) block: [u32; 3],
    /// What a launch passes; each has the place of its position.
    pub(super) params: Vec<Param>,
    /// Bytes of shared memory that the text does not declare itself.
    pub(super) dynamic_shared: usize,
}

fn library(device: &ProtocolObject<dyn MTLDevice>, text: &str) -> Result<Retained<ProtocolObject<dyn MTLLibrary>>, String> {
    let options = MTLCompileOptions::new();
    // The newer `setMathMode` is not there before macOS 15; there, this sets it to the safe mode.
    #[allow(deprecated)]
    options.setFastMathEnabled(false);
    let compiled = device.newLibraryWithSource_options_error(&NSString::from_str(text), Some(&options));
    // Warnings come with success, and are not asked for.
    compiled.map_err(|error| facts::shortened(&error.localizedDescription().to_string()))
}

/// Whether the compiler knows bfloat16 matrices.
pub(super) fn takes_bfloat(device: &ProtocolObject<dyn MTLDevice>) -> bool {
    const PROBE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void probe(device bfloat* in [[buffer(0)]], device float* out [[buffer(1)]]) {
    simdgroup_matrix<bfloat, 8, 8> a;
    simdgroup_load(a, in, 8, ulong2(0, 0), false);
    simdgroup_matrix<float, 8, 8> sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_multiply_accumulate(sum, a, a, sum);
    simdgroup_store(sum, out, 8, ulong2(0, 0), false);
}
";
    pipeline(device, PROBE, "probe").is_ok()
}

fn pipeline(
    device: &ProtocolObject<dyn MTLDevice>,
    text: &str,
    entry: &str,
) -> Result<Retained<ProtocolObject<dyn MTLComputePipelineState>>, String> {
    let library = library(device, text)?;
    let Some(function) = library.newFunctionWithName(&NSString::from_str(entry)) else {
        let names: Vec<String> = library.functionNames().iter().map(|name| name.to_string()).collect();
        return Err(format!("it has no function `{entry}` (it has: {})", names.join(", ")));
    };
    if function.functionType() != MTLFunctionType::Kernel {
        return Err(format!("`{entry}` is no compute kernel\n help: declare it with `kernel void`"));
    }
    let pipeline = device.newComputePipelineStateWithFunction_error(&function);
    pipeline.map_err(|error| facts::shortened(&error.localizedDescription().to_string()))
}

/// Compiles; the error is for [`unigrad_device::Error::Compile`].
pub(super) fn compile(
    device: &ProtocolObject<dyn MTLDevice>,
    target: &Target,
    source: &Source,
    program: &Program,
) -> Result<Module, String> {
    if let Some(param) = program.params.iter().find(|param| matches!(param, Param::Table { .. } | Param::ScalarTable { .. })) {
        return Err(format!("it takes a table ({param:?}), which Metal has not\n help: pass each entry as a parameter"));
    }
    if program.params.len() > ARGUMENTS {
        let cause = format!("it takes {} buffers and numbers, Metal passes {ARGUMENTS}", program.params.len());
        return Err(format!("{cause}\n help: divide the kernel, or pass numbers in a buffer"));
    }
    let pipeline = pipeline(device, &source.text, &source.entry)?;
    let most = pipeline.maxTotalThreadsPerThreadgroup();
    if program.threads() as usize > most {
        return Err(format!("it has workgroups of {} threads; its registers allow {most}", program.threads()));
    }
    let shared = pipeline.staticThreadgroupMemoryLength() + source.dynamic_shared;
    if shared > target.shared_bytes {
        return Err(format!("it shares {shared} bytes in a workgroup; the device has {}", target.shared_bytes));
    }
    let width = pipeline.threadExecutionWidth();
    if target.subgroup.is_some() && width != SIMD_WIDTH as usize {
        return Err(format!("its subgroups have {width} threads; it was made for {SIMD_WIDTH}"));
    }
    Ok(Module {
        name: program.name.clone(),
        pipeline,
        block: program.block,
        params: program.params.clone(),
        dynamic_shared: source.dynamic_shared,
    })
}
