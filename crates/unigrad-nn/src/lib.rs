//! unigrad-nn
