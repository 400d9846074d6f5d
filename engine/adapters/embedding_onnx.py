"""The default embedding model in ONNX Runtime: loads in a third of a second, a query takes a few milliseconds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

MODEL_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
DIMENSIONS = 384
MAX_PIECES = 256
"""Word pieces of a text that are read, as the model's authors set it."""
_BATCH = 8
"""Texts run together. Measured on tool descriptions: 8 of similar length are faster than 32 or 64."""
_TOKENISED_TOGETHER = 2048
_MAX_CHARACTERS = 50_000
"""Far more than 256 word pieces; spares the tokenizer a book."""
_MAX_THREADS = 4


class OnnxModel:
    """An export that is loaded. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Load the export in `folder`; whatever ONNX Runtime or tokenizers raise passes through."""
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # One thread a text: a pool of threads inside the runtime slows every query when several users ask at once.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        path = str(folder / MODEL_FILE)
        self._session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_PIECES)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), 384)."""
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), _TOKENISED_TOGETHER):
            part = texts[start : start + _TOKENISED_TOGETHER]
            vectors[start : start + len(part)] = self._embed_part(part)
        return vectors

    def _embed_part(self, texts: Sequence[str]) -> np.ndarray:
        pieces = [encoded.ids for encoded in self._tokenizer.encode_batch([readable(text) for text in texts])]
        # Texts of similar length together, so that little is computed on padding.
        order = sorted(range(len(pieces)), key=lambda row: len(pieces[row]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)

        def run(rows: list[int]) -> None:
            width = len(pieces[rows[-1]])
            ids = np.zeros((len(rows), width), dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, : len(pieces[row])] = pieces[row]
                mask[place, : len(pieces[row])] = 1
            vectors[rows] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

        if len(batches) == 1:
            run(batches[0])
        else:
            # The longest first: the threads then end at about the same time.
            with ThreadPoolExecutor(min(len(batches), _threads())) as pool:
                list(pool.map(run, reversed(batches)))
        return vectors


def readable(text: str) -> str:
    """Return the text as a tokenizer can read it: no endless texts, no halves of surrogate pairs."""
    cut = text[:_MAX_CHARACTERS]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")


def _threads() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(_MAX_THREADS, len(os.sched_getaffinity(0))))
    return max(1, min(_MAX_THREADS, os.cpu_count() or 1))
