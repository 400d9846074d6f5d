"""How a step's outputs, findings and warnings are saved; shipped with the code of every step."""

from __future__ import annotations

from engine.data.kind import json_ready


def linear_algebra():
    """Return the linear algebra library with the kernel chosen for this processor: the last digits depend on it."""
    try:
        import threadpoolctl
    except ImportError:
        return ""
    threads = {}
    for info in threadpoolctl.threadpool_info():
        if info["user_api"] == "blas":
            name = f"{info['internal_api']} {info.get('architecture') or ''}".strip()
            threads[name] = max(threads.get(name, 0), info["num_threads"])
    return "; ".join(f"{name}, {count} thread{'s' if count > 1 else ''}" for name, count in threads.items())


def save_result(result, outputs, folder):
    """Write a step's outputs, and its findings and warnings to `result.json`; return what was written.

    `outputs` maps each output to its kind of data and what writes it. An output the step did not give is left out.
    """
    import json
    import os

    os.makedirs(folder, exist_ok=True)
    written = {}
    for output, (kind, write) in outputs.items():
        value = result.get(output)
        if value is None:
            continue
        name = os.path.basename(write(value, os.path.join(folder, output)))
        rows = len(value) if hasattr(value, "columns") or isinstance(value, (list, dict)) else None
        columns = [str(column) for column in list(getattr(value, "columns", []))[:200]]
        written[output] = {"file": name, "type": kind, "rows": rows, "columns": columns}
        if kind == "figure" and os.path.exists(os.path.join(folder, f"{output}.svg")):
            written[output]["drawing"] = f"{output}.svg"
    record = {
        "computed_on": linear_algebra(),
        "outputs": written,
        "findings": json_ready(result.get("findings", [])),
        "warnings": json_ready(result.get("warnings", [])),
    }
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as handle:
        json.dump(record, handle, ensure_ascii=False, allow_nan=False)
    return record
