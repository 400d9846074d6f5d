"""Texts to unit vectors, with what is on this machine and without a network.

The default model runs in ONNX Runtime from an export that is made once for every account and model
(`embedding_export`); any other model runs in sentence-transformers. Nothing is read or imported before the
first use.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from platformdirs import user_cache_path

from engine.adapters import embedding_export, embedding_files
from engine.adapters.embedding_files import DEFAULT_MODEL, ModelFiles
from engine.adapters.embedding_onnx import DIMENSIONS, OnnxModel, readable
from engine.errors import ModelUnavailable
from engine.ports.embedder import Embedder

_LOG = logging.getLogger(__name__)
_DEFAULT_NAMES = frozenset({DEFAULT_MODEL.lower(), f"sentence-transformers/{DEFAULT_MODEL}".lower()})
_MIN_CANARY_COSINE = 0.9999


class _Loaded(Protocol):
    def embed(self, texts: Sequence[str]) -> np.ndarray: ...


def load_embedder(model: str, cache: Path | None = None) -> Embedder | None:
    """Return the embedder a setting names; it reads its files when first used.

    Args:
        model: the setting `embedding_model`: `all-MiniLM-L6-v2`, another model of sentence-transformers that
            was downloaded, the folder of one, or `none`.
        cache: where exports are kept; `models` in the account's cache folder by default.

    Returns:
        The embedder, or None for `none`. A model that cannot be used is found out at first use: every property
        and method then raises ModelUnavailable.
    """
    wanted = model.strip()
    if wanted.lower() == "none":
        return None
    if wanted.lower() in _DEFAULT_NAMES:
        return DefaultEmbedder(cache)
    return SentenceTransformerEmbedder(wanted)


def default_cache() -> Path:
    """Return where exports are kept."""
    return user_cache_path("biodesk", appauthor=False) / "models"


class DefaultEmbedder:
    """all-MiniLM-L6-v2: 384 numbers, the mean over at most 256 word pieces. Thread-safe."""

    def __init__(
        self, cache: Path | None = None, export: embedding_export.Export = embedding_export.export_in_subprocess
    ) -> None:
        self._cache = cache
        self._export = export
        self._lock = threading.Lock()
        self._files: ModelFiles | None = None
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """Model and the beginning of its weights' SHA-256."""
        return f"{DEFAULT_MODEL}@{self._find().sha256[:8]}"

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        return DIMENSIONS

    @property
    def is_fast(self) -> bool:
        """True when the model is loaded from its export."""
        return isinstance(self._loaded, OnnxModel)

    def warm(self) -> None:
        """Load the model, making its export first when there is none (about 20 seconds, once)."""
        self._model()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), 384).

        Raises:
            ModelUnavailable: when the model's files are missing or are not what they should be.
        """
        if not len(texts):
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        return self._model().embed(texts)

    def _find(self) -> ModelFiles:
        if self._files is None:
            self._files = embedding_files.find_default()
        return self._files

    def _model(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _Loaded:
        files, cache = self._find(), self._cache or default_cache()
        folder = cache / files.sha256
        model = _open_export(folder, files.sha256)
        if model is not None:
            return model
        files.check()
        try:
            self._export(files, cache)
            model = _open_export(folder, files.sha256)
        except ModelUnavailable as error:
            _LOG.warning("%s Until then it loads slowly.", error.message)
        # The same vectors from the original, at the price of ten seconds at every start.
        return model or _SentenceTransformer(files.folder, DEFAULT_MODEL)


class SentenceTransformerEmbedder:
    """Any other model that sentence-transformers can load from this machine. Thread-safe."""

    def __init__(self, model: str) -> None:
        self._setting = model
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._name = ""
        self._loaded: _SentenceTransformer | None = None

    @property
    def name(self) -> str:
        """Model and the beginning of the SHA-256 of its files."""
        with self._lock:
            if not self._name:
                folder = self._find()
                label = Path(self._setting).expanduser().resolve().name if _is_folder(self._setting) else self._setting
                self._name = f"{label}@{embedding_files.folder_hash(folder)[:8]}"
            return self._name

    @property
    def dimensions(self) -> int:
        """Numbers in a vector; loads the model."""
        return self._model().dimensions

    def warm(self) -> None:
        """Load the model."""
        self._model()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1, shape (len(texts), dimensions).

        Raises:
            ModelUnavailable: when the model is not on this machine or cannot be loaded.
        """
        return self._model().embed(texts)

    def _find(self) -> Path:
        if self._folder is None:
            self._folder = embedding_files.find_named(self._setting)
        return self._folder

    def _model(self) -> _SentenceTransformer:
        with self._lock:
            if self._loaded is None:
                self._loaded = _SentenceTransformer(self._find(), self._setting)
            return self._loaded


class _SentenceTransformer:
    """A folder's model in sentence-transformers."""

    def __init__(self, folder: Path, label: str) -> None:
        os.environ.update(embedding_export.OFFLINE)
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as its_logging

            its_logging.disable_progress_bar()
            self._model: Any = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
            self.dimensions = int(self._model.get_embedding_dimension() or 0)
        except Exception as error:
            first = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
            raise ModelUnavailable(
                f"The embedding model {label!r} in {folder} cannot be loaded: {first}",
                advice="Check that the folder holds a complete model of sentence-transformers, or set "
                "`embedding_model` to another or to `none`; search goes on with words alone.",
            ) from error
        # Its tokenizer is not made for several threads.
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 rows of length 1."""
        if not len(texts):
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            vectors = self._model.encode(
                [readable(text) for text in texts], normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)


def _open_export(folder: Path, sha256: str) -> OnnxModel | None:
    """Return the export, or None when there is none or it is not what was made."""
    manifest = embedding_export.read_manifest(folder, sha256)
    if manifest is None:
        return None
    try:
        model = OnnxModel(folder)
        same = float(model.embed([embedding_export.CANARY])[0] @ np.asarray(manifest["canary"], dtype=np.float32))
    except ImportError as error:
        _LOG.warning("The fast form of the embedding model cannot be used: %s.", error)
        return None
    except Exception as error:  # noqa: BLE001 - damaged files make these libraries raise almost anything
        _LOG.warning("The prepared embedding model in %s is damaged (%s) and is made again.", folder, error)
        same = 0.0
        model = None
    if model is not None and same >= _MIN_CANARY_COSINE:
        return model
    # A manifest that says otherwise would keep the new export from taking the place.
    with suppress(OSError):
        (folder / embedding_export.MANIFEST_FILE).unlink()
    return None


def _is_folder(setting: str) -> bool:
    return Path(setting).expanduser().is_dir()
