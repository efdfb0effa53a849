//! unigrad-graph
