//! unigrad-plan
