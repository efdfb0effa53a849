//! How a tensor is shown.

use super::PyTensor;
use crate::dtype::name_of;
use crate::exit::Release;
use pyo3::{exceptions::PyTypeError, prelude::*};
use unigrad::tensor::DType;

/// Dtypes that numbers of Python have by themselves: they need not be named.
fn is_plain(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::I64 | DType::Bool)
}

#[pymethods]
impl PyTensor {
    fn __repr__(&self, py: Python<'_>) -> String {
        const HEAD: &str = "tensor(";
        let x = self.tensor();
        let values = py.released(|| x.to_string());
        // Truth values as Python writes them.
        let values = if x.dtype() == DType::Bool { values.replace("true", "True").replace("false", "False") } else { values };
        let mut text = format!("{HEAD}{}", values.replace('\n', &format!("\n{}", " ".repeat(HEAD.len()))));
        if x.numel() == 0 && x.rank() != 1 {
            text.push_str(&format!(", size={:?}", x.shape()));
        }
        if !is_plain(x.dtype()) || (x.numel() == 0 && x.dtype() != DType::F32) {
            text.push_str(&format!(", dtype=unigrad.{}", name_of(x.dtype())));
        }
        if let Ok(device) = x.device()
            && device.backend() != "cpu"
        {
            text.push_str(&format!(", device='{device}'"));
        }
        if self.tensor().needs_grad() {
            text.push_str(", requires_grad=True");
        }
        text + ")"
    }

    /// What a notebook shows.
    fn _repr_html_(&self, py: Python<'_>) -> String {
        let text = self.__repr__(py).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("<pre>{text}</pre>")
    }

    fn __format__(&self, py: Python<'_>, spec: &str) -> PyResult<String> {
        // Also without a format, as PyTorch's: `f"{loss}"` is the number.
        if self.tensor().rank() == 0 {
            return self.item(py)?.call_method1("__format__", (spec,))?.extract();
        }
        if !spec.is_empty() {
            return Err(PyTypeError::new_err(format!(
                "a tensor with axes has no format {spec:?}\n help: format its elements, or give no format"
            )));
        }
        Ok(self.__repr__(py))
    }
}
