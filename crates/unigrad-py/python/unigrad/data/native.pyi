# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from unigrad._unigrad import Device as Device
from unigrad._unigrad import Tensor as Tensor

class Csv:
    """
    The cells of a CSV file, as texts without the spaces around them.

    >>> import unigrad as ug
    >>> csv = ug.data.Csv.parse(b"name,size\\nBerta,1.8\\nAnton,1.7\\n")
    >>> csv.names, len(csv), csv.column("name")
    (['name', 'size'], 2, ['Berta', 'Anton'])
    """

    def __len__(self, /) -> builtins.int:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    def column(self, /, name: builtins.str) -> builtins.list[builtins.str]:
        """
        The cells of a column, by its name.
        """

    @property
    def names(self, /) -> builtins.list[builtins.str]:
        """
        The columns' names.
        """

    @staticmethod
    def parse(bytes: builtins.bytes, delimiter: builtins.str=',', quote: builtins.str | None=..., has_header: builtins.bool=True) -> Csv:
        """
        As `read`, of bytes.
        """

    @staticmethod
    def read(path: builtins.str | PathLike[builtins.str], delimiter: builtins.str=',', quote: builtins.str | None=..., has_header: builtins.bool=True) -> Csv:
        """
        Reads a file. Without `has_header` the columns are `column 1` and so on; with `quote=None` quotes are characters like others.
        """

    def row(self, /, index: builtins.int) -> builtins.list[builtins.str]:
        """
        The cells of a row, by its number.
        """

class Picture:
    """
    One image on the host: bytes from 0 to 255, or floats from 0 to 1 until they are normalized. `Picture(tensor)` has the values of a tensor
    `[channels, height, width]`.

    >>> import unigrad as ug
    >>> picture = ug.data.Picture(ug.zeros(3, 4, 6, dtype=ug.uint8))
    >>> picture.height, picture.width, picture.channels
    (4, 6, 3)
    """

    def __new__(cls, /, tensor: Tensor) -> Picture:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    @property
    def channels(self, /) -> builtins.int:
        """
        1 for grey, 2 for grey with alpha, 3 for RGB, 4 for RGBA.
        """

    def convert(self, /, channels: builtins.int) -> Picture:
        """
        In other channels: grey by ITU-R 601, grey to RGB by repeating it; alpha is left out, or is full.
        """

    @staticmethod
    def decode(bytes: builtins.bytes, channels: builtins.int | None=3, max_pixels: builtins.int=100000000) -> Picture:
        """
        As `read`, of a file's bytes.
        """

    @property
    def height(self, /) -> builtins.int:
        """
        Rows.
        """

    @staticmethod
    def read(path: builtins.str | PathLike[builtins.str], channels: builtins.int | None=3, max_pixels: builtins.int=100000000) -> Picture:
        """
        Reads a PNG, JPEG or WebP file: in so many `channels` (1 grey, 3 RGB, 4 RGBA), or with `None` in those that it has. A file that announces more
        than `max_pixels` is refused.
        """

    def tensor(self, /, device: Device | builtins.str | None=None) -> Tensor:
        """
        The values as `[channels, height, width]`, `uint8` or `float32`: what a model takes.
        """

    @property
    def width(self, /) -> builtins.int:
        """
        Columns.
        """

class Pictures:
    """
    Pictures with a class each, by number.
    """

    def __len__(self, /) -> builtins.int:
        ...

    @property
    def classes(self, /) -> builtins.list[builtins.str]:
        """
        The names of the classes, if they have some.
        """

    @property
    def files(self, /) -> builtins.list[Path]:
        """
        The file of each picture, if each has one.
        """

    def get(self, /, index: builtins.int) -> builtins.tuple[Picture, builtins.int]:
        """
        A picture and its class.
        """

    @property
    def labels(self, /) -> builtins.list[builtins.int]:
        """
        The class of each picture, in order.
        """

class RandomNumbers:
    """
    Random numbers of a seed and a stream: an item's number, say.
    """

    def __new__(cls, /, seed: builtins.int, stream: builtins.int=0) -> RandomNumbers:
        ...

    def uniform(self, /) -> builtins.float:
        """
        The next one, from 0 to 1.
        """

class TableSchema:
    """
    What columns mean: learned of one file, applied to any other with the same columns.

    >>> import unigrad as ug
    >>> csv = ug.data.Csv.parse(b"size,colour,kind\\n1.0,red,a\\n3.0,blue,b\\n")
    >>> schema = ug.data.TableSchema.fit(csv, target="kind")
    >>> schema.features(csv).shape, schema.targets(csv).tolist(), schema.classes
    ((2, 3), [0, 1], ['a', 'b'])
    """

    @property
    def classes(self, /) -> builtins.list[builtins.str]:
        """
        The classes of a classification, in the order of a model's outputs.
        """

    @property
    def feature_names(self, /) -> builtins.list[builtins.str]:
        """
        A name for each feature.
        """

    def features(self, /, csv: Csv, device: Device | builtins.str | None=None) -> Tensor:
        """
        The features of a table's rows: `[rows, features]`.
        """

    @staticmethod
    def fit(csv: Csv, target: builtins.str | None=None, *, task: builtins.str | None=None, rows: Sequence[builtins.int] | None=None, ignore: Sequence[builtins.str]=..., types: builtins.dict[builtins.str, builtins.str]=..., missing: builtins.str='own', missing_of: builtins.dict[builtins.str, builtins.str]=..., categories: builtins.str='onehot', unknown: builtins.str='error', standardize: builtins.bool=True, standardize_target: builtins.bool=False, nan_is_missing: builtins.bool=False, max_categories: builtins.int=256) -> TableSchema:
        """
        Learns it of a table, or of some `rows` of it. `target` is the column to be answered; `ignore` names columns to leave out; `types` says what columns have
        ("integer", "float", "boolean", "category", "date", "text") where their cells suggest otherwise; `missing` ("own", "mean", "mode", "error") what becomes of
        cells without a value, for all or by column; `categories` is "onehot" or "index"; `unknown` ("error" or "ignore") what becomes of later categories.
        """

    @staticmethod
    def from_json(text: builtins.str) -> TableSchema:
        """
        From JSON.
        """

    @property
    def target(self, /) -> builtins.str | None:
        """
        The column to be answered, if there is one.
        """

    def targets(self, /, csv: Csv, device: Device | builtins.str | None=None) -> Tensor:
        """
        The targets of a table's rows: `[rows]`, classes or numbers.
        """

    @property
    def task(self, /) -> builtins.str | None:
        """
        "classification" or "regression", if there is a target.
        """

    def to_json(self, /) -> builtins.str:
        """
        As JSON: for a model's metadata.
        """

    def unscale(self, /, answer: builtins.float | builtins.int) -> builtins.float:
        """
        A number that a model answers, in the target's own unit.
        """

class TokenVocabulary:
    """
    Tokens and their numbers: 0 fills the ends of sequences, 1 stands for what is not in the vocabulary.

    >>> import unigrad as ug
    >>> vocabulary = ug.data.TokenVocabulary.fit(["a b a", "c"])
    >>> vocabulary.encode("a c d"), vocabulary.decode([2, 4])
    ([2, 4, 1], 'a c')
    """

    def __len__(self, /) -> builtins.int:
        ...

    def decode(self, /, tokens: Sequence[builtins.int]) -> builtins.str:
        """
        The text of tokens: words with spaces between. Padding is left out, and what is unknown is `<unk>`.
        """

    def encode(self, /, text: builtins.str) -> builtins.list[builtins.int]:
        """
        The numbers of a text's tokens.
        """

    @staticmethod
    def fit(texts: Sequence[builtins.str], unit: builtins.str='word', at_least: builtins.int=1, at_most: builtins.int=50000) -> TokenVocabulary:
        """
        Of the tokens ("word" or "character") that come up at least `at_least` times in the texts, the most frequent first, at most `at_most`.
        """

    @staticmethod
    def from_json(text: builtins.str) -> TokenVocabulary:
        """
        From JSON.
        """

    def to_json(self, /) -> builtins.str:
        """
        As JSON: for a model's metadata.
        """

class Transform:
    """
    One of the crates' transforms.
    """

    def apply(self, /, picture: Picture, numbers: RandomNumbers) -> Picture:
        """
        The picture that it makes.
        """

    @staticmethod
    def center_crop(height: builtins.int, width: builtins.int) -> Transform:
        """
        The middle.
        """

    @staticmethod
    def color_jitter(brightness: builtins.float | builtins.int, contrast: builtins.float | builtins.int, saturation: builtins.float | builtins.int, hue: builtins.float | builtins.int) -> Transform:
        """
        Other colours.
        """

    @staticmethod
    def erasing(p: builtins.float | builtins.int, scale: builtins.tuple[builtins.float | builtins.int, builtins.float | builtins.int], ratio: builtins.tuple[builtins.float | builtins.int, builtins.float | builtins.int], value: builtins.float | builtins.int) -> Transform:
        """
        A rectangle erased, with a probability.
        """

    @staticmethod
    def grayscale(p: builtins.float | builtins.int) -> Transform:
        """
        Grey, with a probability.
        """

    @staticmethod
    def horizontal_flip(p: builtins.float | builtins.int) -> Transform:
        """
        Left to right, with a probability.
        """

    @staticmethod
    def normalize(mean: Sequence[builtins.float | builtins.int], std: Sequence[builtins.float | builtins.int]) -> Transform:
        """
        Each channel less its mean, by its standard deviation.
        """

    @staticmethod
    def random_crop(height: builtins.int, width: builtins.int, padding: builtins.int, fill: builtins.float | builtins.int) -> Transform:
        """
        A part at random, of a picture with so many pixels around.
        """

    @staticmethod
    def random_resized_crop(height: builtins.int, width: builtins.int, scale: builtins.tuple[builtins.float | builtins.int, builtins.float | builtins.int], ratio: builtins.tuple[builtins.float | builtins.int, builtins.float | builtins.int]) -> Transform:
        """
        A part of a random size and shape, resized.
        """

    @staticmethod
    def resize(height: builtins.int, width: builtins.int | None) -> Transform:
        """
        To a size, or with one number so that the shorter side has it.
        """

    @staticmethod
    def rotation(degrees: builtins.tuple[builtins.float | builtins.int, builtins.float | builtins.int], fill: builtins.float | builtins.int) -> Transform:
        """
        Turned by an angle between two.
        """

    @staticmethod
    def to_float() -> Transform:
        """
        Bytes as floats from 0 to 1.
        """

    @staticmethod
    def vertical_flip(p: builtins.float | builtins.int) -> Transform:
        """
        Top to bottom, with a probability.
        """

def lines_of_file(path: builtins.str | PathLike[builtins.str]) -> builtins.list[builtins.str]:
    """
    The lines of a text file that have more than spaces.

    >>> import unigrad
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
    >>> _ = path.write_text("one\\n\\ntwo\\n")
    >>> unigrad.data.lines_of_file(path)
    ['one', 'two']
    """

def split_text(text: builtins.str, unit: builtins.str='word') -> builtins.list[builtins.str]:
    """
    The tokens of a text: words in lower case and single other characters, or characters.

    >>> import unigrad as ug
    >>> ug.data.split_text("Don't stop!")
    ['don', "'", 't', 'stop', '!']
    """

def texts_of_table(table: Csv, text: builtins.str, label: builtins.str) -> builtins.tuple[builtins.list[builtins.tuple[builtins.str, builtins.int]], builtins.list[builtins.str]]:
    """
    Texts with the number of their class, and the classes in alphabetical order, from two columns of a table.

    >>> import unigrad as ug
    >>> ug.data.texts_of_table(ug.data.Csv.parse(b"text,kind\\ngood film,+\\nbad,-\\n"), "text", "kind")
    ([('good film', 0), ('bad', 1)], ['+', '-'])
    """
