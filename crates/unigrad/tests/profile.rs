//! The profiler, around a training step on the CPU.

use unigrad::device::profile::{Profiler, Verdict, scope};
use unigrad::prelude::*;

#[test]
fn a_profile_tells_what_ran_where_and_how_fast() -> Result<()> {
    let device = Device::open("cpu")?;
    let x = Tensor::randn([256, 256], DType::F32, &device);
    let w = Tensor::randn([256, 256], DType::F32, &device).requires_grad();
    x.realize()?;
    let profiler = Profiler::start()?;
    assert!(Profiler::start().is_err(), "one at a time");
    let loss = {
        let _scope = scope("step");
        let _scope = scope("forward");
        let loss = x.matmul(&w).softmax(-1).square().sum(());
        loss.item::<f32>()?
    };
    assert!(loss.is_finite());
    let profile = profiler.stop()?;
    let product = profile.events.iter().find(|e| e.kind == "contract").expect("a product ran");
    assert_eq!(product.scope, "step/forward");
    assert_eq!(product.flops, 2.0 * 256f64.powi(3));
    assert!(product.duration_ns > 0.0 && product.start_ns >= 0.0);
    assert!(product.origin.is_some_and(|origin| origin.file().ends_with("profile.rs")));
    assert!(profile.events.iter().any(|e| e.kind == "download" && e.bytes == 4.0), "the read");
    let ceilings = profile.devices[0].ceilings;
    assert!(ceilings.gb_per_s > 0.1 && ceilings.gflop_per_s > 0.1 && ceilings.launch_ns > 0.0, "{ceilings:?}");
    assert!(matches!(profile.verdict_of(product), Verdict::Compute | Verdict::Launch | Verdict::Bandwidth));

    let summary = profile.summary();
    assert!(summary.contains("contract") && summary.contains("step/forward") && summary.contains("profile.rs:"), "{summary}");
    let trace: serde_json::Value = serde_json::from_str(&profile.chrome_trace()).expect("the trace is JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    assert!(events.iter().any(|e| e["ph"] == "X" && e["cat"] == "contract" && e["dur"].as_f64() > Some(0.0)));
    assert!(events.iter().any(|e| e["ph"] == "C" && e["args"]["bytes"].as_u64() > Some(0)));
    let html = profile.html();
    assert!(html.contains("<canvas") && !html.contains("{{") && !html.contains("src="), "self-contained");

    // Off again: nothing is recorded.
    let nothing = Profiler::start()?.stop()?;
    assert_eq!(nothing.events.len(), 0);
    assert!(nothing.summary().starts_with("0.0 us of device time"), "{}", nothing.summary());
    Ok(())
}
