//! unigrad
