//! `unigrad bench plan`: what planning costs, cold and on a hit.

use crate::line::{Line, Report};
use std::time::Instant;

use unigrad_nn::{self as nn, Module};
use unigrad_tensor::{DType, Result, Tensor, eval};

/// Trains a 12-layer GPT, narrow so that computing takes little beside planning, whose cost does not depend on width.
pub(crate) fn run(report: &Report<'_>) -> Result<()> {
    let config = nn::models::GptConfig { vocab: 65, ctx: 32, layers: 12, heads: 2, dim: 32 };
    let model = nn::models::Gpt::new(config, &report.device)?;
    let inputs = Tensor::randint(0, 65, [2, 32], DType::I64, &report.device).realize()?;
    let targets = Tensor::randint(0, 65, [2, 32], DType::I64, &report.device).realize()?;
    Tensor::realize_all(&model.parameters().iter().collect::<Vec<_>>())?;
    let mut optimizer = nn::AdamW::new(model.parameters(), 1e-3)?;
    let mut step = || -> Result<(eval::Stats, f64)> {
        let before = eval::stats();
        let begin = Instant::now();
        optimizer.minimize(&model.loss(&inputs, &targets), &[])?;
        let seconds = begin.elapsed().as_secs_f64();
        let after = eval::stats();
        let stats = eval::Stats {
            plans_built: after.plans_built - before.plans_built,
            launches: after.launches - before.launches,
            nodes: after.nodes - before.nodes,
            lookup_nanos: after.lookup_nanos - before.lookup_nanos,
            plan_nanos: after.plan_nanos - before.plan_nanos,
            ..after
        };
        Ok((stats, seconds))
    };
    let (cold, _) = step()?;
    step()?;
    let mut per_node: Vec<f64> = Vec::new();
    let mut hit = (cold, 0.0);
    for _ in 0..50 {
        hit = step()?;
        per_node.push(hit.0.lookup_nanos as f64 / hit.0.nodes.max(1) as f64);
    }
    (report.hear)(Line::Plan {
        nodes: hit.0.nodes,
        launches: hit.0.launches,
        cold_ms: cold.plan_nanos as f64 / 1e6,
        hit_ns_per_node: crate::statistics::median(&per_node),
        plans_built_on_hit: hit.0.plans_built,
    });
    Ok(())
}
