"""Readers and pictures as the crates have them: what `unigrad.data` is made of, and gives on."""

from .._unigrad import _data

Csv, Picture, TableSchema, TokenVocabulary = _data.Csv, _data.Picture, _data.TableSchema, _data.TokenVocabulary
Pictures, RandomNumbers, Transform = _data.Pictures, _data.RandomNumbers, _data.Transform
lines_of_file, split_text, texts_of_table = _data.lines_of_file, _data.split_text, _data.texts_of_table
