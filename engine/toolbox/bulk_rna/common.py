"""What the RNA and gene-list tools share, because a count matrix or a gene name is read the same way everywhere.

Each function is a helper in the sense of `engine.toolbox.registry.tool`: its source is shipped with the
tools that name it, so it imports what it needs inside and calls only helpers shipped beside it.
"""

from __future__ import annotations

from engine.text.names import without_common_ends
from engine.toolbox.bulk_rna.fits import (
    fit_coefficients,
    fit_dispersions,
    fit_trend,
    shrink_coefficients,
    wald_of_coefficients,
)


def format_p(value):
    """Write a p-value the way a paper does."""
    if value is None or value != value:
        return "not available"
    if value < 1e-300:
        return "below 1e-300"
    if value < 0.001:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def name_some(names, limit=5):
    """List the first few names and say how many more there are."""
    names = [str(name) for name in names]
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def check_counts(counts):
    """Return raw counts as whole numbers with one row a feature, and what had to be changed.

    Refuses values that cannot be read counts: a negative binomial model fitted to them gives wrong p-values.
    """
    import numpy as np

    if counts.shape[0] == 0 or counts.shape[1] == 0:
        raise ValueError(
            f"The count matrix has {counts.shape[0]} rows and {counts.shape[1]} columns: expected features in rows "
            "and samples in columns; check how the file was read."
        )
    notes = []
    doubled = counts.columns[counts.columns.duplicated()].unique()
    if len(doubled):
        raise ValueError(
            f"The count matrix has more than one column for sample {name_some(doubled)}: "
            "expected one column a sample; rename or merge them."
        )
    try:
        values = counts.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The count matrix holds text ({error}): expected whole numbers only; correct those cells or leave out the "
            "columns that are not samples."
        ) from error

    def place(mask):
        row, column = np.argwhere(mask)[0]
        return f"feature {counts.index[row]!r}, sample {counts.columns[column]!r}"

    for mask, what in (
        (~np.isfinite(values), "missing or infinite values"),
        (values < 0, "negative values"),
    ):
        if mask.any():
            raise ValueError(
                f"The count matrix has {int(mask.sum())} {what} (first at {place(mask)}): expected raw read counts, "
                "whole numbers of 0 or more; give the counts before any normalisation."
            )
    broken = np.abs(values - np.round(values)) > 1e-6
    if broken.any():
        first = values[tuple(np.argwhere(broken)[0])]
        raise ValueError(
            f"The count matrix has {int(broken.sum())} values that are not whole numbers (first {first:g} at "
            f"{place(broken)}): expected raw read counts; give the counts before normalisation, or round them if they "
            "are estimated counts (Salmon, kallisto, RSEM)."
        )
    clean = counts.copy()
    clean[:] = np.round(values)
    clean = clean.astype("int64")
    clean.index = clean.index.astype(str)
    clean.columns = clean.columns.astype(str)
    if clean.index.has_duplicates:
        repeated = clean.index[clean.index.duplicated()].unique()
        clean = clean.groupby(level=0, sort=False).sum()
        notes.append(
            f"{len(repeated)} feature names occur on several rows ({name_some(repeated)}); their counts were added up."
        )
    clean.index.name = "feature"
    return clean, notes


def match_samples(columns, samples):
    """Return the sample sheet in the order of the matrix's samples, and what did not match."""
    import pandas as pd

    sheet = samples.copy()
    sheet.index = sheet.index.astype(str).str.strip()
    columns = [str(column) for column in columns]
    notes = []
    if not set(columns) & set(sheet.index):
        for ours, theirs in ((columns, list(sheet.index)), (list(sheet.index), columns)):
            cut = without_common_ends(ours, theirs)
            if cut is None:
                continue
            # The matrix keeps its names, so the sheet takes them.
            names = dict(zip(cut, ours, strict=True) if ours is columns else zip(ours, cut, strict=True))
            sheet.index = pd.Index([names.get(name, name) for name in sheet.index])
            notes.append(f"Samples were matched without what their names have in common: {ours[0]!r} is {cut[0]!r}.")
            break
    if not set(columns) & set(sheet.index):
        fitting = [name for name in sheet.columns if set(sheet[name].astype(str).str.strip()) & set(columns)]
        if not fitting:
            raise ValueError(
                f"No sample of the sheet ({name_some(sheet.index, 3)}) is a column of the matrix "
                f"({name_some(columns, 3)}): expected the same sample names in both; rename one of them."
            )
        sheet.index = sheet[fitting[0]].astype(str).str.strip()
        notes.append(f"Samples were matched by the sheet's column {fitting[0]!r}, because its row names do not match.")
    if sheet.index.has_duplicates:
        repeated = sheet.index[sheet.index.duplicated()].unique()
        raise ValueError(
            f"The sample sheet has several rows for {name_some(repeated)}: expected one row a sample; "
            "keep one row of each."
        )
    shared = [column for column in columns if column in sheet.index]
    without_row = [column for column in columns if column not in sheet.index]
    without_data = [name for name in sheet.index if name not in set(columns)]
    if without_row:
        notes.append(
            f"{len(without_row)} samples are left out, having no row in the sample sheet: {name_some(without_row)}."
        )
    if without_data:
        notes.append(
            f"{len(without_data)} rows of the sample sheet are left out, having no column in the matrix: "
            f"{name_some(without_data)}."
        )
    return sheet.loc[shared], notes


def de_columns(table, needed=("feature", "log2_fold_change", "p_adj")):
    """Return a differential-expression table with the usual column names and numeric columns.

    Tables of DESeq2, edgeR, limma and Seurat are understood too.
    """
    import re

    import pandas as pd

    # Names in lower-case letters and digits; a test keeps them equal to those the profiler knows.
    synonyms = {
        "feature": (
            "genes?|feature(id)?|features|(ens|ensembl)(gene)?(id)?|ensgene|geneid|targetid|probe(id)?|probeset|idref|"
            "trackingid|entrez(gene)?(id)?|transcript(id)?|protein(id)?|names|id|row|unnamed0"
        ),
        "symbol": "symbol|gene(name|symbols?)|hgncsymbol|externalgenename",
        "base_mean": "basemean",
        "log2_fold_change": "((mean|mle|shrunken)?log2?|avglog2)(fc|foldchanges?|ratio)(mle|shrunk)?|lfc",
        "lfc_se": "lfcse",
        "stat": "stat|t",
        "p_value": "p|pvals?|pvalues?|nominalp|nompval|nompvalue|rawp",
        "p_adj": (
            "padj|fdr|qval|qvalues?|q|adjp|adjpval|adjpvalue|adjustedpvalue|adjustedp|pvaladj|pvalsadj|padjusted|"
            "padjust|pvalueadj|bh|fdrqval|fdrqvalue|fwerpval"
        ),
    }
    frame = table.copy()
    plain = {column: re.sub("[^a-z0-9]", "", str(column).lower()) for column in frame.columns}
    for name, pattern in synonyms.items():
        if name not in frame:
            match = next((column for column in frame.columns if re.fullmatch(pattern, plain.get(column, ""))), None)
            if match is not None:
                frame = frame.rename(columns={match: name})
    if "feature" not in frame and "symbol" in frame:
        frame["feature"] = frame["symbol"]
    missing = [column for column in needed if column not in frame]
    if missing:
        raise ValueError(
            f"The table has no column {missing[0]!r} (its columns: {name_some(table.columns, 8)}): expected the result "
            "of a differential expression analysis; run one first or rename the column."
        )
    for column in ("base_mean", "log2_fold_change", "lfc_se", "stat", "p_value", "p_adj"):
        if column in frame:
            numbers = pd.to_numeric(frame[column], errors="coerce")
            text = frame.loc[numbers.isna() & frame[column].notna(), column]
            if len(text):
                raise ValueError(
                    f"Column {column!r} holds {str(text.iloc[0])!r}, which is not a number: "
                    "expected numbers; correct or empty those cells."
                )
            frame[column] = numbers
    frame["feature"] = frame["feature"].astype(str)
    return frame.reset_index(drop=True)


def gene_label(row):
    """Return "SYMBOL (id)" or just the id."""
    symbol = row.get("symbol")
    return f"{symbol} ({row['feature']})" if isinstance(symbol, str) and symbol else str(row["feature"])


def changed_by(treated, row):
    """Return what a gene's row states as data: that the treated condition raises or lowers the gene."""
    symbol = row.get("symbol")
    return {
        "subject": str(treated),
        "relation": "upregulates" if row["log2_fold_change"] > 0 else "downregulates",
        "object": symbol if isinstance(symbol, str) and symbol else str(row["feature"]),
    }


def gene_inference(processes=0):
    """Return PyDESeq2's per-gene fitting with fits that end at the optimum, the genes shared out over processes.

    PyDESeq2 starts fresh interpreters for this; forking is quicker, works where starting programs is forbidden and
    gives the same numbers, since the same functions see the same genes. Anything that hinders it falls back to one
    process. `processes` 0 takes the number of threads this job was given.
    """
    import multiprocessing
    import os
    import sys

    import numpy as np
    import threadpoolctl
    from pydeseq2.default_inference import DefaultInference

    # The matrices of one gene are tiny: threads inside linear algebra make the fit several times slower.
    threadpoolctl.threadpool_limits(1)
    if not processes:
        given = os.environ.get("OMP_NUM_THREADS", "")
        processes = int(given) if given.isdigit() and int(given) else os.cpu_count() or 1
    inference = DefaultInference(n_cpus=1)

    def lin_reg_mu(counts, size_factors, design_matrix, min_mu):
        scale = size_factors[:, None]
        fitted = scale * (design_matrix @ np.linalg.lstsq(design_matrix, counts / scale, rcond=None)[0])
        return np.maximum(fitted, min_mu)

    def alpha_mle(
        counts, design_matrix, mu, alpha_hat, min_disp, max_disp,
        prior_disp_var=None, cr_reg=True, prior_reg=False, optimizer="",
    ):  # fmt: skip
        variance = prior_disp_var if prior_reg else None
        bounds = (min_disp, max_disp)
        found = [
            fit_dispersions(counts[:, part], design_matrix, mu[:, part], *bounds, alpha_hat[part], variance, cr_reg)
            for part in blocks(counts, design_matrix)
        ]
        return np.concatenate(found), np.ones(counts.shape[1], dtype=bool)

    def irls(
        counts, size_factors, design_matrix, disp, min_mu, beta_tol,
        min_beta=-30, max_beta=30, optimizer="", maxiter=250,
    ):  # fmt: skip
        fits = [
            fit_coefficients(counts[:, part], size_factors, design_matrix, disp[part], min_mu)
            for part in blocks(counts, design_matrix)
        ]
        beta, mu, leverage, settled = (np.concatenate(each, axis=-1) for each in zip(*fits, strict=True))
        return beta.T, mu, leverage, settled

    def dispersion_trend_gamma_glm(covariates, targets):
        found = fit_trend(covariates.to_numpy(), targets.to_numpy(), (1.0, 1.0))
        return found, found[0] + found[1] * covariates.to_numpy(), bool((found > 1e-10).all())

    def wald_test(design_matrix, disp, lfc, mu, ridge_factor, contrast, lfc_null, alt_hypothesis=None):
        if alt_hypothesis not in (None, "greaterAbs") or (alt_hypothesis is None and lfc_null):
            raise NotImplementedError(alt_hypothesis)
        return wald_of_coefficients(design_matrix, disp, lfc, mu, ridge_factor, np.asarray(contrast, float), lfc_null)

    near_top = inference.lfc_shrink_nbinom_glm

    def lfc_shrink_nbinom_glm(
        design_matrix, counts, size, offset, prior_no_shrink_scale, prior_scale, optimizer, shrink_index
    ):
        scales = prior_no_shrink_scale, prior_scale
        start, _, settled = near_top(design_matrix, counts, size, offset, *scales, optimizer, shrink_index)
        beta, inverse = shrink_coefficients(
            start, counts, design_matrix, size, np.asarray(offset), *scales, shrink_index
        )
        return beta, inverse, settled

    def blocks(counts, design_matrix):
        """Return slices of the genes, so that what is held at once stays small and in the cache."""
        most = max(1, 500_000 // (len(counts) + design_matrix.shape[1] ** 2))
        return [slice(first, first + most) for first in range(0, counts.shape[1], most)]

    inference.lin_reg_mu, inference.alpha_mle, inference.irls = lin_reg_mu, alpha_mle, irls
    inference.dispersion_trend_gamma_glm, inference.wald_test = dispersion_trend_gamma_glm, wald_test
    inference.lfc_shrink_nbinom_glm = lfc_shrink_nbinom_glm
    if processes < 2 or sys.platform != "linux":
        return inference
    context = multiprocessing.get_context("fork")

    def answer(connection, method, arguments):
        connection.send(method(**arguments))
        connection.close()

    def start(method, arguments):
        try:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=answer, args=(sender, method, arguments))
            process.start()
            sender.close()
        except (OSError, AssertionError):
            return None, None
        return process, receiver

    def finish(process, receiver, method, arguments):
        if process is None:
            return method(**arguments)
        try:
            part = receiver.recv()
        except (EOFError, OSError):
            part = None
        process.join()
        return method(**arguments) if part is None else part

    def joined(pieces, axis):
        shape = list(pieces[0].shape)
        shape[axis] = sum(piece.shape[axis] for piece in pieces)
        whole = np.empty(shape, dtype=np.result_type(*pieces))
        for first, piece in enumerate(pieces):
            whole[(slice(None),) * axis + (slice(first, None, processes),)] = piece
        return whole

    def shared_out(method, inputs, outputs):
        def run(**arguments):
            lead = next(iter(inputs))
            if arguments[lead].shape[inputs[lead]] < 500:
                return method(**arguments)
            shares = [dict(arguments) for _ in range(processes)]
            for first, share in enumerate(shares):
                for name, axis in inputs.items():
                    share[name] = arguments[name][(slice(None),) * axis + (slice(first, None, processes),)]
            started = [(*start(method, share), method, share) for share in shares[1:]]
            parts = [method(**shares[0]), *(finish(*job) for job in started)]
            if len(outputs) == 1:
                return joined(parts, outputs[0])
            return tuple(joined([part[k] for part in parts], axis) for k, axis in enumerate(outputs))

        return run

    inference.irls = shared_out(inference.irls, {"counts": 1, "disp": 0}, (0, 1, 1, 0))
    inference.alpha_mle = shared_out(inference.alpha_mle, {"counts": 1, "mu": 1, "alpha_hat": 0}, (0, 0))
    inference.lfc_shrink_nbinom_glm = shared_out(inference.lfc_shrink_nbinom_glm, {"counts": 1, "size": 0}, (0, 0, 0))
    return inference
