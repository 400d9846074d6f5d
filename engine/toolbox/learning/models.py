"""The models by name, and how one is fitted: gaps, scales and penalty from the training rows alone.

Methods whose strength is not chosen here (forest, boosting) have the settings of their entry whatever the data are.
"""

from __future__ import annotations


def model_name(model, target_is_number):
    """Return what a model is called in a sentence."""
    names = {
        "linear": "ridge regression" if target_is_number else "penalised logistic regression",
        "lasso": "lasso" if target_is_number else "logistic regression with lasso penalty",
        "elastic_net": "elastic net" if target_is_number else "logistic regression with elastic net penalty",
        "lda": "linear discriminant analysis",
        "pls": "partial least squares" if target_is_number else "partial least squares (PLS-DA)",
        "knn": "nearest neighbours", "svm": "support vector machine", "forest": "random forest",
        "boosting": "gradient boosting",
    }  # fmt: skip
    return names[model]


def strengths(model, target_is_number, n_rows):
    """Return the settings among which the inner cross-validation chooses; one where there is nothing to choose.

    Classes: C of logistic regressions and the SVM; numbers: 1/alpha of ridge, alpha of the lasso with a standardised
    outcome; components of PLS; neighbours.
    """
    if target_is_number:
        own = {"linear": [0.001, 0.01, 0.1, 1.0], "lasso": [0.003, 0.01, 0.03, 0.1, 0.3],
               "elastic_net": [0.003, 0.01, 0.03, 0.1, 0.3]}  # fmt: skip
    else:
        own = {"linear": [0.003, 0.03, 0.3, 3.0], "lasso": [0.03, 0.1, 0.3, 1.0, 3.0],
               "elastic_net": [0.03, 0.1, 0.3, 1.0, 3.0]}  # fmt: skip
    shared = {"pls": [1, 2, 3, 5], "svm": [0.1, 1.0, 10.0], "knn": [k for k in (3, 7, 15, 31) if k <= n_rows // 2]}
    return own.get(model) or shared.get(model) or [1.0]


def learner(model, target_is_number, strength, seed, shape, splits=None):
    """Return an unfitted model.

    Args:
        model: its name, see `model_name`.
        target_is_number: whether a number or a label is predicted.
        strength: one of `strengths`.
        seed: of what is random in it.
        shape: rows and columns of the coded training data.
        splits: of the training rows, for the probabilities of a support vector machine.
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.svm import SVC, SVR

    trees = {"n_estimators": 300, "min_samples_leaf": 2, "random_state": seed, "n_jobs": 1}
    boosted = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 2, "subsample": 0.7, "random_state": seed}
    near = max(1, min(int(strength), shape[0]))
    parts = max(1, min(int(strength), shape[1], shape[0] - 1))
    if target_is_number:
        return {
            "linear": lambda: Ridge(alpha=1 / strength),
            "lasso": lambda: Lasso(alpha=strength, max_iter=3000),
            "elastic_net": lambda: ElasticNet(alpha=strength, l1_ratio=0.5, max_iter=3000),
            "pls": lambda: PLSRegression(parts, scale=False),
            "knn": lambda: KNeighborsRegressor(near),
            "svm": lambda: SVR(C=strength),
            "forest": lambda: RandomForestRegressor(**trees),
            "boosting": lambda: GradientBoostingRegressor(**boosted),
        }[model]()
    sparse = {"C": strength, "solver": "saga", "max_iter": 300, "tol": 1e-3, "random_state": seed}
    # The same minimum whatever the solver; the first is quicker for few columns.
    solver = "newton-cholesky" if shape[1] < 60 else "lbfgs"
    shrunk = shape[1] >= shape[0] / 2  # more columns than the rows can tell apart: covariance by Ledoit and Wolf
    return {
        "linear": lambda: LogisticRegression(C=strength, max_iter=200, solver=solver),
        "lasso": lambda: LogisticRegression(l1_ratio=1.0, **sparse),
        "elastic_net": lambda: LogisticRegression(l1_ratio=0.5, **sparse),
        "lda": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto") if shrunk
        else LinearDiscriminantAnalysis(),
        "knn": lambda: KNeighborsClassifier(near),
        "svm": lambda: CalibratedClassifierCV(SVC(C=strength, random_state=seed), ensemble=False, cv=splits),
        "forest": lambda: RandomForestClassifier(**trees),
        "boosting": lambda: GradientBoostingClassifier(**boosted),
        "pls": lambda: PLSRegression(parts, scale=False),
    }[model]()  # fmt: skip


def fitted_model(model, known, wanted, target_is_number, strength, seed, splits):
    """Fit and return an object with `predict`, and for labels `predict_proba` and `classes_`.

    Numbers are standardised for the fit, so that a penalty does not depend on their unit. PLS for labels (PLS-DA) is
    PLS on one 0/1 column per label, and linear discriminant analysis of its scores.
    """
    from types import SimpleNamespace

    import numpy as np
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    empty = learner(model, target_is_number, strength, seed, known.shape, splits)
    truth = np.asarray(wanted)
    if target_is_number:
        centre, spread = float(truth.mean()), float(truth.std()) or 1.0
        fitted = empty.fit(known, (truth - centre) / spread)
        return SimpleNamespace(predict=lambda new: centre + spread * fitted.predict(new).ravel())
    if model != "pls":
        return empty.fit(known, truth)
    axes = empty.fit(known, (truth[:, None] == np.unique(truth)).astype(float))
    judge = LinearDiscriminantAnalysis().fit(axes.transform(known), truth)
    return SimpleNamespace(
        classes_=judge.classes_,
        predict=lambda new: judge.predict(axes.transform(new)),
        predict_proba=lambda new: judge.predict_proba(axes.transform(new)),
    )


def fill_and_scale(frame, rows):
    """Return what the training rows say of the predictors, for `coded_rows`.

    Fills, centres and spreads of the numbers; of each category its most frequent level, and its levels.
    """
    import numpy as np

    numbers = frame.select_dtypes("float").to_numpy()[rows]
    empty = np.isnan(numbers).all(axis=0)
    fills = np.where(empty, 0.0, np.nanmedian(np.where(empty, 0.0, numbers), axis=0))
    filled = np.where(np.isnan(numbers), fills, numbers)
    spread = filled.std(axis=0)
    levels = {}
    for name in frame.select_dtypes(exclude="float"):
        counts = frame[name].iloc[rows].value_counts()
        levels[name] = (counts.index[0] if len(counts) else "", sorted(counts.index))
    return fills, filled.mean(axis=0), np.where(spread > 0, spread, 1.0), levels


def coded_rows(frame, rows, facts):
    """Return rows as numbers by what the training rows said: gaps filled, numbers scaled, a 0/1 column per level."""
    import numpy as np

    fills, centres, spreads, levels = facts
    numbers = frame.select_dtypes("float").to_numpy()[rows]
    columns = [(np.where(np.isnan(numbers), fills, numbers) - centres) / spreads]
    for name, (fill, own) in levels.items():
        values = frame[name].iloc[rows].fillna(fill).to_numpy()
        columns.append((values[:, None] == np.array(own, dtype=object)).astype(float))
    return np.hstack(columns)


def coded_names(frame, facts):
    """Return the predictor behind every column of `coded_rows`."""
    return [*frame.select_dtypes("float"), *(name for name, (_, own) in facts[3].items() for _ in own)]
