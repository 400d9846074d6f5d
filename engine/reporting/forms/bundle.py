"""Packs a run into a folder that stands on its own: report, notebook, artifacts, data, record.

Written beside its place and moved there when whole, so that a folder is never half an export. A folder that
Biodesk did not write is never written into.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any, Literal, get_args

from engine.domain.encoding.escaping import in_markdown
from engine.domain.report import RunView
from engine.errors import EngineError, StorageError, UserError
from engine.ports.artifacts import ArtifactStore
from engine.provenance.files import DATA, FORMAT, PROVENANCE, artifact_files, code_file, data_files, for_others
from engine.provenance.notebook import modules_of, notebook, to_json
from engine.provenance.recorder import provenance, written
from engine.provenance.verify import hash_file
from engine.reporting.forms import html, markdown, pdf, run_json
from engine.toolbox.registry import ToolRegistry

DATA_LIMIT = 1024**3
"""Data files are copied into a folder when all together are smaller than this many bytes."""
Format = Literal["md", "html", "pdf", "notebook", "json"]
_LATER = ("ro-crate", "prov")


def export(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry, fmt: str, out: Path) -> Path:
    """Write one form of a run to the file `out`, replacing it only when it was written whole.

    Raises:
        UserError: for a form that does not exist, or a place that cannot be written.
    """
    if fmt in _LATER:
        message = f"The format {fmt!r} is not available in this version."
        raise UserError(message, advice=f"Available: {', '.join(get_args(Format))}; json is the provenance record.")
    if fmt not in get_args(Format):
        message = f"There is no format {fmt!r}."
        raise UserError(message, advice=f"Available: {', '.join(get_args(Format))}.")
    if os.path.isdir(out):  # noqa: PTH112 - a name too long for any file is none, not an error, until it is written
        message = f"{str(out)!r} is a folder; a file is expected for format {fmt}."
        raise UserError(message, advice="Give the name of a file.")
    content = _content(view, artifacts, registry, fmt)
    partial = out.with_name(f".{uuid.uuid4().hex[:12]}.partial")  # its own name may be as long as a name can be
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(out)
    except OSError as err:
        message = f"{str(out)!r} cannot be written: {err.strerror or err}."
        raise UserError(message, advice="Choose another place.") from err
    finally:
        partial.unlink(missing_ok=True)
    return out


def _content(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry, fmt: str) -> bytes:
    if fmt == "pdf":
        return pdf.render(view, artifacts, registry)
    if fmt == "html":
        return html.render(view, artifacts, registry).encode()
    if fmt == "notebook":
        return to_json(notebook(view, registry, artifacts)).encode()
    if fmt == "json":
        return written(provenance(view, registry)).encode()
    return markdown.render(view, registry).encode()


def write_bundle(
    view: RunView, artifacts: ArtifactStore, registry: ToolRegistry, out: Path, data_limit: int = DATA_LIMIT
) -> list[Path]:
    """Write everything of a run into the folder `out` and return the files written.

    An earlier export there is replaced; files in it that were changed by hand are kept under another name.

    Raises:
        UserError: when `out` holds files that Biodesk did not write, or cannot be written.
    """
    out = Path(os.path.expanduser(out)).absolute()  # noqa: PTH111 - ~NAME of nobody here is a name like any other
    refuse_foreign(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".biodesk.", dir=out.parent))
    except OSError as err:
        message = f"The folder {str(out)!r} cannot be written: {err.strerror or err}."
        raise UserError(message, advice="Choose another place with --out.") from err
    try:
        _fill(view, artifacts, registry, staging, data_limit)
        return _move(staging, out)
    except OSError as err:
        message = f"Writing {str(out)!r} failed: {err.strerror or err}."
        raise StorageError(message, advice="Free some disk space or choose another place with --out.") from err
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_foreign(out: Path) -> None:
    """Raise `UserError` when `out` is no name for a folder, a file, or a folder with files Biodesk did not write."""
    try:
        there = out.exists()
    except OSError as err:
        message = f"The folder {str(out)!r} cannot be written: {err.strerror or err}."
        raise UserError(message, advice="Choose another place with --out.") from err
    if there and not out.is_dir():
        message = f"{str(out)!r} is a file; a folder is expected."
        raise UserError(message, advice="Give the name of a new or empty folder.")
    if out.is_dir() and any(out.iterdir()) and _listed(out) is None:
        message = f"The folder {str(out)!r} holds files that Biodesk did not write."
        raise UserError(
            message, advice="Give the name of a new or empty folder, so that nothing of yours is overwritten."
        )


def _listed(folder: Path) -> dict[str, Any] | None:
    """Return path -> facts of an earlier export in this folder, or None when it is not one."""
    try:
        document = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
        return dict(document["files"]) if document["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _fill(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry, folder: Path, data_limit: int) -> None:
    missing: list[str] = []
    for name, artifact in artifact_files(view):
        _copy(artifacts, artifact.sha256, folder / name, artifact.name, missing)
    for node_id, result in view.results.items():
        if result.code_sha256:
            _copy(artifacts, result.code_sha256, folder / code_file(node_id), f"the code of step {node_id}", missing)
    data_note = _copy_data(view, artifacts, folder, data_limit)
    plan = for_others(view.plan) if view.plan else None
    texts = {
        "report.md": markdown.render(view, registry),
        "report.html": html.render(view, artifacts, registry),
        "notebook.ipynb": to_json(notebook(view, registry, artifacts)),
        "run.json": written({**run_json.render(view, registry), "plan": plan}),
        "README.md": _readme(view, data_note, missing),
        **modules_of(view, registry, artifacts),
    }
    if plan is not None:
        texts["plan.json"] = written(plan)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    (folder / "report.pdf").write_bytes(pdf.render(view, artifacts, registry))
    files = {
        path.relative_to(folder).as_posix(): {"sha256": hash_file(path), "bytes": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (folder / PROVENANCE).write_text(written(provenance(view, registry, files=files)), encoding="utf-8", newline="\n")


def _copy(artifacts: ArtifactStore, sha256: str, target: Path, label: str, missing: list[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(artifacts.path(sha256), target)
    except (EngineError, FileNotFoundError):
        missing.append(f"{label} is missing from the workspace and could not be packed.")


def _copy_data(view: RunView, artifacts: ArtifactStore, folder: Path, limit: int) -> str:
    """Copy the data files when they are small enough; return one line on what was done."""
    datasets = list({d.sha256: d for d in (view.plan.datasets if view.plan else [])}.values())
    if not datasets:
        return "The run used no data files."
    size = sum(d.bytes for d in datasets)
    if size >= limit:
        return (
            f"The data files ({size / 1e9:.1f} GB) are not in this folder: put them into `data/` or set BIODESK_DATA "
            "to their folder before running the notebook."
        )
    names, absent = data_files(view.plan), []
    for dataset in datasets:
        source = _source_of(dataset.path, dataset.sha256, artifacts)
        if source is None:
            absent.append(dataset.name)
            continue
        target = folder / DATA / names[dataset.name]
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
    if absent:
        return f"Not in `data/`, because they changed or are gone since the run: {', '.join(absent)}."
    return "`data/` holds the data files the run used."


def _source_of(path: str, sha256: str, artifacts: ArtifactStore) -> Path | None:
    if artifacts.has(sha256):
        return artifacts.path(sha256)
    original = Path(path).expanduser()
    return original if original.is_file() and hash_file(original) == sha256 else None


def _readme(view: RunView, data_note: str, missing: list[str]) -> str:
    lines = [
        f"# {in_markdown(view.record.question)}",
        "",
        "- `report.html`, `report.pdf`, `report.md`: the report",
        "- `notebook.ipynb`: the analysis as code; run it in this folder, its first cell lists the packages it needs",
        "- `steps_*.py`: the functions of the steps, which the notebook imports",
        "- `artifacts/`: tables and figures; `code/`: the exact code of each step",
        "- `run.json`, `plan.json`: the run and its plan for programs",
        f"- `{PROVENANCE}`: what ran on what, with SHA-256 of every file here; `biodesk verify` checks it",
        f"- {data_note}",
        *(f"- {in_markdown(text)}" for text in missing),
    ]
    return "\n".join(lines) + "\n"


def _move(staging: Path, out: Path) -> list[Path]:
    if not out.exists() or not any(out.iterdir()):
        if out.exists():
            out.rmdir()
        staging.chmod(0o755)
        staging.rename(out)
    else:
        _replace_earlier(staging, out)
    return sorted(path for path in out.rglob("*") if path.is_file())


def _replace_earlier(staging: Path, out: Path) -> None:
    for name, facts in (_listed(out) or {}).items():
        old = out / name
        if ".." in Path(name).parts or Path(name).is_absolute() or not old.is_file():
            continue
        if hash_file(old) != facts.get("sha256"):
            _keep_edited(old)
        else:
            old.unlink()
    (out / PROVENANCE).unlink(missing_ok=True)
    for path in sorted(staging.rglob("*")):
        if path.is_file():
            target = out / path.relative_to(staging)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


def _keep_edited(path: Path) -> None:
    number = 1
    while (kept := path.with_name(f"{path.stem}.edited{number}{path.suffix}")).exists():
        number += 1
    path.rename(kept)
