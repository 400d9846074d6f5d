"""Turns the default embedding model into a form that loads in a fraction of a second: ONNX, 32-bit floats.

Run once, in a process of its own (`python -m engine.adapters.embedding_export FOLDER TARGET`), because what it
imports takes ten seconds and half a gigabyte. The form holds pooling and normalisation too, so that what comes
out are the unit vectors themselves. It is compared with the original before it is kept, and put in its place by
one renaming: another process finds nothing there or all of it.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.adapters.embedding_files import WEIGHTS, ModelFiles, hash_file
from engine.adapters.embedding_onnx import MODEL_FILE, TOKENIZER_FILE, OnnxModel
from engine.errors import ModelUnavailable

FORM = 1
"""Grows when the exported form changes, so that older ones are made again."""
MANIFEST_FILE = "manifest.json"
CANARY = "Differential expression of genes between two groups of samples"
"""A text whose vector is kept beside the form, to see at every start that it still gives the same."""

_SECONDS = 900
_MAKING = ".making-"
_MIN_COSINE = 0.99999
_SAMPLES = (
    CANARY,
    "",
    "BRCA1",
    "Align single-end and paired-end reads to a reference genome with BWA-MEM and sort the alignments.",
    "Größe, naïve Bayes, 遺伝子発現, β-catenin -> 5′-UTR; 37 °C",
    "gene " * 400,
)


Export = Callable[[ModelFiles, Path], object]
"""Makes the export of a model in a folder of exports, as `export_in_subprocess` does."""


def read_manifest(folder: Path, sha256: str) -> dict[str, Any] | None:
    """Return the facts about an export that is complete and made of these weights, else None."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        whole = (folder / MODEL_FILE).stat().st_size == manifest["bytes"] and (folder / TOKENIZER_FILE).is_file()
        fits = manifest["form"] == FORM and manifest["weights_sha256"] == sha256 and len(manifest["canary"]) > 0
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest if whole and fits else None


def export_in_subprocess(files: ModelFiles, cache: Path) -> Path:
    """Make the export of files that were checked, in a process of its own, and return its folder; once, 15 seconds.

    Raises:
        ModelUnavailable: when the export failed.
    """
    folder = cache / files.sha256
    package_root = str(Path(__file__).resolve().parents[2])
    paths = [package_root, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **OFFLINE}
    command = [sys.executable, "-m", "engine.adapters.embedding_export", str(files.folder), str(folder)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
        failure = "" if done.returncode == 0 else _last_line(done.stderr) or f"exit code {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure or read_manifest(folder, files.sha256) is None:
        raise ModelUnavailable(
            f"The embedding model could not be prepared for fast loading in {cache}: {failure or 'it is incomplete'}.",
            advice="Check that you may write to that folder and that there are 200 MB of room, then try again.",
        )
    return folder


OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
"""Keeps Hugging Face's libraries from the network."""


def export(source: Path, target: Path) -> None:
    """Write the export of the model in `source` to the folder `target`, in one step.

    Raises:
        ModelUnavailable: when the export does not give the same vectors as the model.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_MAKING, ignore_cleanup_errors=True) as temporary:
        made = Path(temporary) / "export"
        made.mkdir(mode=0o700)
        canary, cosine = _write_model(source, made)
        facts = {
            "form": FORM,
            "weights_sha256": hash_file(source / WEIGHTS),
            "model_sha256": hash_file(made / MODEL_FILE),
            "bytes": (made / MODEL_FILE).stat().st_size,
            "lowest_cosine": cosine,
            "canary": canary,
        }
        (made / MANIFEST_FILE).write_text(json.dumps(facts), encoding="utf-8")
        _put_in_place(made, target)


def _sweep(folder: Path) -> None:
    """Remove what a process left that was killed while it made an export."""
    for left in folder.glob(f"{_MAKING}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 2 * _SECONDS:
                shutil.rmtree(left)


def _put_in_place(made: Path, target: Path) -> None:
    """Rename the finished folder to its place; one that another process put there meanwhile stays."""
    if target.exists():
        manifest = json.loads((made / MANIFEST_FILE).read_text(encoding="utf-8"))
        if read_manifest(target, manifest["weights_sha256"]) is not None:
            return
        target.rename(made.parent / "old")
    try:
        made.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _write_model(source: Path, folder: Path) -> tuple[list[float], float]:
    """Write model and tokenizer to `folder`; return the canary's vector and the lowest cosine to the original."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    # The plain form of attention is the one whose export works with any length.
    network: Any = AutoModel.from_pretrained(str(source), local_files_only=True, attn_implementation="eager")

    class UnitVectors(torch.nn.Module):
        """The network, the mean over a text's word pieces, and length 1."""

        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            """Return float32 (texts, 384) from int64 (texts, pieces)."""
            kinds = torch.zeros_like(input_ids)
            answer = self.network(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=kinds)
            mask = attention_mask.unsqueeze(-1).to(answer.last_hidden_state.dtype)
            mean = (answer.last_hidden_state * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2, dim=1)

    texts, pieces = torch.export.Dim("texts", min=1, max=4096), torch.export.Dim("pieces", min=2, max=512)
    # Two tensors: the same one given twice would be taken for a single input.
    examples = torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long)
    shape = {0: texts, 1: pieces}
    with torch.inference_mode():
        program: Any = torch.onnx.export(
            UnitVectors().eval(),
            examples,
            dynamo=True,
            input_names=["input_ids", "attention_mask"],
            output_names=["vectors"],
            dynamic_shapes={"input_ids": shape, "attention_mask": shape},
            external_data=False,
            verbose=False,
        )
        program.save(str(folder / MODEL_FILE), external_data=False)
    shutil.copyfile(source / "tokenizer.json", folder / TOKENIZER_FILE)
    original = SentenceTransformer(str(source), local_files_only=True, device="cpu")
    reference = np.asarray(original.encode(list(_SAMPLES), normalize_embeddings=True, show_progress_bar=False))
    made = OnnxModel(folder).embed(_SAMPLES)
    cosine = float((reference * made).sum(axis=1).min())
    if not cosine > _MIN_COSINE:
        raise ModelUnavailable(f"The exported model differs from the original: lowest cosine {cosine:.6f}.")
    return [round(float(number), 7) for number in reference[0]], cosine


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def main() -> int:
    """Export `FOLDER` to `TARGET`."""
    import warnings

    os.environ.update(OFFLINE)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    try:
        export(Path(sys.argv[1]), Path(sys.argv[2]))
    except (ModelUnavailable, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
