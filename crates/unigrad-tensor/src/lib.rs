//! unigrad-tensor
