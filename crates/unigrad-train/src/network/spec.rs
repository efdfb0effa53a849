//! What a layer is, in words: one type for the builder, for model files (JSON) and for configuration files (TOML).
//!
//! In: names and settings. Out: the same, checked for names and types only: whether a layer fits its input is seen when it is built (`build.rs`).
//! Always: names are PyTorch's in lower case (`conv2d`, `batch_norm`), settings and defaults too; sizes of inputs are not among them, for they follow from the
//! layer before. An unknown name or setting is an error.

use super::{kind::LayerKind, named};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

/// A layer of a [`super::Network`]: what it is, and its name, if it has one of its own.
///
/// In files: `"relu"`, `{ dense = { units = 10 } }`, `{ dense = { units = 10 }, name = "head" }`.
///
/// ```
/// use unigrad_train::network::{LayerKind, LayerSpec};
/// let layer: LayerSpec = serde_json::from_str(r#"{ "dense": { "units": 10 }, "name": "head" }"#).unwrap();
/// assert_eq!(layer, LayerSpec::from(LayerKind::dense(10)).named("head"));
/// assert_eq!(serde_json::from_str::<LayerSpec>("\"relu\"").unwrap(), LayerKind::Relu.into());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpec {
    /// Its name in paths of parameters (`head.weight`); without one, its position (`4.weight`).
    pub name: Option<String>,
    /// What it is.
    pub kind: LayerKind,
}

impl LayerSpec {
    /// With a name of its own.
    pub fn named(mut self, name: impl Into<String>) -> LayerSpec {
        self.name = Some(name.into());
        self
    }
}

impl From<LayerKind> for LayerSpec {
    fn from(kind: LayerKind) -> LayerSpec {
        LayerSpec { name: None, kind }
    }
}

impl Serialize for LayerSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(name) = &self.name else { return self.kind.serialize(serializer) };
        let kind = serde_json::to_value(&self.kind).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", name)?;
        match kind {
            serde_json::Value::Object(entries) => entries.iter().try_for_each(|(kind, settings)| map.serialize_entry(kind, settings))?,
            kind => map.serialize_entry(kind.as_str().unwrap_or_default(), &serde_json::Map::new())?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for LayerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LayerSpec, D::Error> {
        let (kind, name) = named::one_of_and(deserializer, "a layer", "name")?;
        Ok(LayerSpec { name, kind })
    }
}
