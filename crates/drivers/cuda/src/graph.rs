//! Launches that the driver keeps as a CUDA graph.
//!
//! In: kernels with their parameters, and work of cuBLASLt, which is captured. Out: a graph whose nodes follow those that they are to follow, and which
//! is made ready at its first replay.
//! Always: a launch comes after those that it is to follow; others may run beside it. A program that waits by itself and follows one program alone is
//! launched by programmatic dependent launch, when all groups of the program before it have ended, but maybe before what they wrote is there for others: that is what it waits for. One that asks for memory before
//! it waits (a product with few rows: its matrix) is launched when those groups have begun. A parameter that changes goes to the graph that is ready,
//! and counts from the next replay on; CUDA copies parameters, keeps replays of a graph from overlapping, and lets one that is under way end when its
//! graph is dropped.

use crate::{
    api,
    backend::{CudaBackend, CudaModule},
};
use cudarc::driver::sys::{self, CUresult};
use std::{any::Any, ptr::null_mut};
use unigrad_device::{Config, Error, Replay};
use unigrad_gpu::{Kept, Range, Recording, Replays, Taken, Work};

/// Launches as a graph.
struct Graph {
    context: sys::CUcontext,
    graph: sys::CUgraph,
    /// Once it is ready.
    exec: Option<sys::CUgraphExec>,
    /// Nodes, and whether they are programs, which have a port for what is launched early.
    nodes: Vec<(sys::CUgraphNode, bool)>,
    /// Whether programs may be launched early: as the driver and the process have it when the recording begins.
    launches_early: bool,
    /// What a library's work is captured on, if there is some.
    capture: Option<sys::CUstream>,
}

// SAFETY: the driver API may be called from any thread; a graph is used by one at a time, whose callers hold it mutably.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: a retained context; handles of this value alone, released once.
        unsafe {
            if sys::cuCtxSetCurrent(self.context) != CUresult::CUDA_SUCCESS {
                return;
            }
            if let Some(exec) = self.exec {
                sys::cuGraphExecDestroy(exec);
            }
            sys::cuGraphDestroy(self.graph);
            if let Some(stream) = self.capture {
                sys::cuStreamDestroy_v2(stream);
            }
        }
    }
}

/// A graph that was captured, until it is part of another one.
struct Captured(sys::CUgraph);

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: a graph of this value alone, released once.
        unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// Whether the driver knows programmatic edges, and the process wants them.
fn launches_early() -> bool {
    api::version() >= 12_030 && Config::current_or_default().replay != Replay::Serial
}

/// Has a program follow another one as soon as all groups of that one have ended; if it asks for memory ahead, as soon as they have begun.
fn add_early(graph: sys::CUgraph, from: sys::CUgraphNode, to: sys::CUgraphNode, asks_ahead: bool) -> CUresult {
    let port = if asks_ahead { sys::CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER } else { sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC };
    let edge = sys::CUgraphEdgeData {
        from_port: port as u8,
        to_port: 0,
        type_: sys::CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC as u8,
        reserved: [0; 5],
    };
    // SAFETY: two nodes of the graph; pointers to locals, one element each.
    unsafe { sys::cuGraphAddDependencies_v2(graph, &from, &to, &edge, 1) }
}

impl CudaBackend {
    fn graph<'a>(&self, recording: &'a mut (dyn Any + Send)) -> Result<&'a mut Graph, Error> {
        recording.downcast_mut().ok_or_else(|| self.misfit("it is of another driver"))
    }

    fn misfit(&self, cause: &str) -> Error {
        Error::Launch { device: self.name().to_owned(), kernel: "replay".to_owned(), cause: cause.to_owned() }
    }

    /// The work of a library as a graph; `None` if the library refuses it.
    fn capture(&self, graph: &mut Graph, taken: &Taken, work: &Work<'_>, workspace: Range) -> Result<Option<Captured>, Error> {
        let stream = match graph.capture {
            Some(stream) => stream,
            None => {
                let mut stream = null_mut();
                let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
                // SAFETY: pointer to a local; the stream is the graph's from here on.
                self.check("stream", unsafe { sys::cuStreamCreate(&mut stream, flags) })?;
                *graph.capture.insert(stream)
            }
        };
        // Other threads may do what cannot be captured meanwhile, on other streams.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: a stream of this context that nothing else uses.
        self.check("capture", unsafe { sys::cuStreamBeginCapture_v2(stream, mode) })?;
        let done = self.perform_on(taken, work, workspace, stream);
        let mut captured = null_mut();
        // SAFETY: the stream whose capture has begun; pointer to a local.
        let ended = unsafe { sys::cuStreamEndCapture(stream, &mut captured) };
        let captured = (!captured.is_null()).then(|| Captured(captured));
        if !done? {
            return Ok(None);
        }
        self.check("capture", ended)?;
        Ok(captured)
    }
}

impl Replays<CudaModule> for CudaBackend {
    fn record(&self) -> Result<Recording, Error> {
        self.enter()?;
        let mut graph = null_mut();
        // SAFETY: pointer to a local.
        self.check("graph", unsafe { sys::cuGraphCreate(&mut graph, 0) })?;
        let launches_early = launches_early();
        let (context, nodes) = (self.context(), Vec::new());
        Ok(Box::new(Graph { context, graph, exec: None, nodes, launches_early, capture: None }))
    }

    fn keep(&self, recording: &mut Recording, launch: Kept<'_, CudaModule>, after: &[usize]) -> Result<bool, Error> {
        self.enter()?;
        let graph = self.graph(&mut **recording)?;
        let mut node = null_mut();
        let found: Option<Vec<(sys::CUgraphNode, bool)>> = after.iter().map(|at| graph.nodes.get(*at).copied()).collect();
        let found = found.ok_or_else(|| self.misfit("a launch follows one that is not before it"))?;
        let before: Vec<sys::CUgraphNode> = found.iter().map(|(node, _)| *node).collect();
        let is_program = matches!(launch, Kept::Program(..));
        let added = match launch {
            Kept::Program(module, grid, args) => {
                let early = match found[..] {
                    [(last, true)] if module.waits && graph.launches_early => Some(last),
                    _ => None,
                };
                let before = if early.is_some() { &[][..] } else { &before[..] };
                let added = self.with_node(module, grid, args, |params| {
                    // SAFETY: nodes of this graph; one pointer per parameter of the function, to a value of its size, which the driver copies.
                    unsafe { sys::cuGraphAddKernelNode_v2(&mut node, graph.graph, before.as_ptr(), before.len(), params) }
                });
                match early {
                    Some(last) if added == CUresult::CUDA_SUCCESS => add_early(graph.graph, last, node, module.asks_ahead),
                    _ => added,
                }
            }
            Kept::Library(taken, work, workspace) => {
                let Some(child) = self.capture(graph, taken, work, workspace)? else { return Ok(false) };
                // SAFETY: nodes of this graph; the child is copied.
                unsafe { sys::cuGraphAddChildGraphNode(&mut node, graph.graph, before.as_ptr(), before.len(), child.0) }
            }
        };
        self.check("graph node", added)?;
        graph.nodes.push((node, is_program));
        Ok(true)
    }

    fn change(&self, recording: &mut Recording, at: usize, launch: Kept<'_, CudaModule>) -> Result<bool, Error> {
        self.enter()?;
        let graph = self.graph(&mut **recording)?;
        let (Some((node, _)), Some(exec)) = (graph.nodes.get(at).copied(), graph.exec) else {
            return Err(self.misfit("it has fewer launches, or has not run yet"));
        };
        let changed = match launch {
            Kept::Program(module, grid, args) => self.with_node(module, grid, args, |params| {
                // SAFETY: a node of the graph that the executable one was made of; parameters as above.
                unsafe { sys::cuGraphExecKernelNodeSetParams_v2(exec, node, params) }
            }),
            Kept::Library(taken, work, workspace) => {
                let Some(child) = self.capture(graph, taken, work, workspace)? else { return Ok(false) };
                // SAFETY: as above; the child is copied.
                unsafe { sys::cuGraphExecChildGraphNodeSetParams(exec, node, child.0) }
            }
        };
        self.check("graph node", changed).map(|()| true)
    }

    fn replay(&self, recording: &mut Recording) -> Result<(), Error> {
        self.enter()?;
        let graph = self.graph(&mut **recording)?;
        let exec = match graph.exec {
            Some(exec) => exec,
            None => {
                let mut exec = null_mut();
                // SAFETY: a graph of this context; pointer to a local.
                self.check("graph", unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph.graph, 0) })?;
                *graph.exec.insert(exec)
            }
        };
        // SAFETY: an executable graph and a stream of this context.
        let queued = unsafe { sys::cuGraphLaunch(exec, self.stream) };
        if queued != CUresult::CUDA_SUCCESS && !api::is_fatal(queued) {
            return Err(self.misfit(&api::describe(queued)));
        }
        self.check("graph", queued)
    }
}
