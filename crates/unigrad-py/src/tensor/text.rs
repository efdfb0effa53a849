//! How a tensor is shown.

use super::PyTensor;
use crate::dtype::name_of;
use crate::exit::Release;
use pyo3::{exceptions::PyTypeError, prelude::*};
use unigrad::tensor::{DType, default_dtype};

/// Columns of a line.
const LINE: usize = 80;

/// Dtypes that numbers of Python have by themselves: they need not be named.
fn is_plain(dtype: DType) -> bool {
    dtype == default_dtype() || matches!(dtype, DType::I64 | DType::Bool)
}

#[pymethods]
impl PyTensor {
    fn __repr__(&self, py: Python<'_>) -> String {
        const HEAD: &str = "tensor(";
        let x = self.tensor();
        let values = py.released(|| format!("{x:width$}", width = HEAD.len()));
        // Truth values as Python writes them.
        let values = if x.dtype() == DType::Bool { values.replace("true", "True").replace("false", "False") } else { values };
        let mut said = Vec::new();
        if let Ok(device) = x.device()
            && device.backend() != "cpu"
        {
            said.push(format!("device='{device}'"));
        }
        if x.numel() == 0 && x.rank() != 1 {
            let sizes: Vec<String> = x.shape().iter().map(ToString::to_string).collect();
            said.push(format!("size=({})", sizes.join(", ")));
        }
        if !is_plain(x.dtype()) || (x.numel() == 0 && x.dtype() != default_dtype()) {
            said.push(format!("dtype=unigrad.{}", name_of(x.dtype())));
        }
        if x.needs_grad() {
            said.push("requires_grad=True".to_owned());
        }
        let mut text = format!("{HEAD}{values}");
        // As PyTorch counts: two more for what separates.
        let mut column = text.len() - text.rfind('\n').map_or(0, |at| at + 1) + 2;
        for part in said {
            if column + part.len() + 2 > LINE {
                text.push_str(&format!(",\n{}", " ".repeat(HEAD.len())));
                column = HEAD.len() + part.len();
            } else {
                text.push_str(", ");
                column += part.len() + 2;
            }
            text.push_str(&part);
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
