"""Trains the models that read claims and writes `engine/knowledge/claims/data/models.npz`.

    python scripts/train_claims.py            # what `make claims` runs
    python scripts/train_claims.py --judge    # only says how well sentences are read that a fold did not see

Rows are `relation, subject's type, object's type, stance, sentence` with `{S}` and `{O}` in the sentence. A row of
`frames.tsv` says what a frame makes of the sentence in it; each is put round a few sentences.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse  # noqa: TID253 - a script, run by hand

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from engine.domain.knowledge import SYMMETRIC, EdgeType, NodeType  # noqa: E402
from engine.knowledge.claims.features import FIRST, SECOND, relation_features, stance_features, tokens_of, without_loss  # noqa: E402
from engine.knowledge.claims.model import FILE, STANCES, ClaimModels, Softmax  # noqa: E402
from engine.knowledge.claims.relations import COLUMN, OPPOSITE, RELATIONS, family, possible  # noqa: E402

RARE = 3
"""A feature enters from so many sentences on."""
SLIGHT = 3
"""Weights of at most so many 127ths of the largest are left out."""
PENALTY_RELATION, PENALTY_STANCE = 0.7, 0.4
FOLDS = 5


class Row(NamedTuple):
    """A training sentence: its tokens, which mask is the subject, the two types, and what it says."""

    tokens: list[str]
    subject: str
    types: tuple[NodeType, NodeType]
    relation: EdgeType | None
    stance: str
    group: int
    """Rows of one sentence are never in different folds."""


def training_files() -> tuple[Path, Path, Path]:
    """Return the files that the models are made of: sentences by two authors, and frames around sentences."""
    folder = FILE.parent
    return folder / "sentences.tsv", folder / "more_sentences.tsv", folder / "frames.tsv"


def sources_hash() -> str:
    """Return the SHA-256 of the training files and the table of kinds of words."""
    paths = (*training_files(), FILE.parent / "words.tsv")
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def rows_of(path: Path) -> list[Row]:
    """Read the sentences of a file."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        relation, subject, object_, stance, sentence = line.split("\t")
        rows.append(_row(relation, subject, object_, stance, sentence, hash_of(sentence)))
        others = _OTHER_TYPES.get((relation, subject, object_), [])
        if relation == "none":
            k = hash_of(sentence)
            others = [_COMMON[(k + step) % len(_COMMON)] for step in (0, 2, 3)]
        rows += [_row(relation, *other, stance, sentence, hash_of(sentence)) for other in others]
    return rows


_COMMON = [
    ("drug", "gene"), ("drug", "disease"), ("gene", "gene"), ("gene", "disease"), ("disease", "gene"),
    ("gene", "anatomy"), ("drug", "side_effect"), ("gene", "pathway"), ("disease", "symptom"), ("drug", "drug"),
    ("disease", "disease"),
]  # fmt: skip
"""Types between which a sentence without a relation is read as well: what says nothing says nothing of any."""


_OTHER_TYPES = {
    ("causes", "drug", "side_effect"): [("drug", "disease")],
    ("inhibits", "gene", "gene"): [("gene", "drug")],
    ("activates", "gene", "gene"): [("gene", "drug")],
}
"""What is written of one kind of entity is said in the same words of another, which may be its namesake."""


def hash_of(sentence: str) -> int:
    """Return a number that is the same for the same sentence in every run."""
    import zlib

    return zlib.crc32(sentence.encode())


def _row(relation: str, subject: str, object_: str, stance: str, sentence: str, group: int) -> Row:
    first = sentence.index("{S}") < sentence.index("{O}")
    one, two = (FIRST, SECOND) if first else (SECOND, FIRST)
    masked = sentence.replace("{S}", f" {one} ").replace("{O}", f" {two} ")
    kind = None if relation == "none" else EdgeType(relation)
    types = (NodeType(subject), NodeType(object_))
    tokens, lost = without_loss(tokens_of(masked), *map(family, types))
    kind = OPPOSITE.get(kind, kind) if kind and lost == one else kind
    return Row(tokens, one, types, kind, stance, group)


def framed(path: Path, lines: Sequence[str], each: int) -> list[Row]:
    """Put every frame round some of the sentences; a frame keeps, denies or opens what stands in it."""
    plain = [line.split("\t") for line in lines]
    plain = [f for f in plain if f[3] in ("asserted", "denied") and len(f[4]) < 70 and f[4].endswith(".")
             and not any(c in f[4] for c in ",;:(")]  # fmt: skip
    turned = {
        "keep": {"asserted": "asserted", "denied": "denied"},
        "deny": {"asserted": "denied", "denied": "asserted"},
        "open": {"asserted": "unknown", "denied": "unknown"},
    }
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        effect, frame = line.split("\t")
        for k in range(each):
            relation, subject, object_, stance, sentence = plain[(number * 7919 + k * 104_729) % len(plain)]
            if effect == "deny" and stance == "denied":
                continue
            core = sentence[:-1]
            if not core.startswith("{") and not core[1:2].isupper():
                core = core[0].lower() + core[1:]
            text = frame.replace("{C}", core)
            rows.append(_row(relation, subject, object_, turned[effect][stance], text, hash_of(sentence)))
    return rows


class Vocabulary:
    """Features -> columns, those of enough rows."""

    def __init__(self, rows: Sequence[Sequence[str]], groups: Sequence[int]) -> None:
        pairs = {(feature, group) for row, group in zip(rows, groups, strict=True) for feature in row}
        counts = Counter(feature for feature, _ in pairs)
        self.names = sorted(feature for feature, count in counts.items() if count >= RARE)
        self.column = {name: k for k, name in enumerate(self.names)}

    def matrix(self, rows: Sequence[Sequence[str]]) -> Any:
        """Return rows x features, each row of length 1 before the bias in the last column."""
        indices, starts, values = [], [0], []
        for row in rows:
            columns = sorted({self.column[f] for f in row if f in self.column})
            indices += [*columns, len(self.names)]
            values += [1 / np.sqrt(max(1, len(columns)))] * len(columns) + [1.0]
            starts.append(len(indices))
        shape = (len(rows), len(self.names) + 1)
        return sparse.csr_matrix((np.array(values), np.array(indices), np.array(starts)), shape=shape)


def _views(row: Row) -> tuple[list[str], list[str]]:
    other = SECOND if row.subject == FIRST else FIRST
    one, two = (family(t) for t in row.types)
    return (list(relation_features(row.tokens, row.subject, f"{one}>{two}")),
            list(relation_features(row.tokens, other, f"{two}>{one}")))  # fmt: skip


def train_relation(rows: Sequence[Row], penalty: float) -> tuple[list[str], np.ndarray]:
    """Fit the softmax over (relation, who acts) and none; both readings of a pair share the weights.

    Returns:
        Names of the features, and weights, features + bias x relations + none.
    """
    views = [_views(row) for row in rows]
    vocabulary = Vocabulary([f for pair in views for f in pair], [row.group for row in rows for _ in range(2)])
    there, back = (vocabulary.matrix([pair[k] for pair in views]) for k in (0, 1))
    kinds = len(RELATIONS)
    allowed = np.zeros((len(rows), 2 * kinds + 1), dtype=bool)
    right = np.zeros_like(allowed)
    for k, row in enumerate(rows):
        subject, object_ = row.types
        for column, ends in ((0, (subject, object_)), (kinds, (object_, subject))):
            for kind in possible(*ends):
                allowed[k, column + COLUMN[kind]] = True
        allowed[k, -1] = True
        if row.relation is None:
            right[k, -1] = True
            continue
        right[k, COLUMN[row.relation]] = True
        if row.relation in SYMMETRIC and allowed[k, kinds + COLUMN[row.relation]]:
            right[k, kinds + COLUMN[row.relation]] = True
        allowed[k] |= right[k]
    floor = np.where(allowed, 0.0, -1e9)
    size = there.shape[1]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(size, kinds + 1)
        one, two = there @ weights, back @ weights
        logits = np.hstack([one[:, :-1], two[:, :-1], (one[:, -1:] + two[:, -1:]) / 2]) + floor
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        good = np.where(right, p, 0)
        total = good.sum(axis=1, keepdims=True)
        g = p - good / np.maximum(total, 1e-30)
        none = g[:, -1:] / 2
        gradient = there.T @ np.hstack([g[:, :kinds], none]) + back.T @ np.hstack([g[:, kinds:-1], none])
        gradient += penalty * weights / 10
        value = -np.log(np.maximum(total, 1e-30)).sum() + penalty * (weights**2).sum() / 20
        return value, gradient.ravel()

    found = optimize.minimize(loss, np.zeros(size * (kinds + 1)), jac=True, method="L-BFGS-B",
                              options={"maxiter": 60, "maxcor": 6})  # fmt: skip
    return vocabulary.names, found.x.reshape(size, kinds + 1)


def train_stance(rows: Sequence[Row], penalty: float) -> tuple[list[str], np.ndarray]:
    """Fit the softmax over asserted, denied and unknown."""
    from sklearn.linear_model import LogisticRegression

    once = list({" ".join(row.tokens): row for row in rows}.values())
    features = [list(stance_features(row.tokens)) for row in once]
    vocabulary = Vocabulary(features, [hash_of(" ".join(row.tokens)) for row in once])
    labels = [STANCES.index(row.stance) for row in once]
    model = LogisticRegression(C=10 / penalty, max_iter=500, fit_intercept=False)
    model.fit(vocabulary.matrix(features), labels)
    return vocabulary.names, model.coef_.T


def model_of(names: Sequence[str], weights: np.ndarray, stance_names: Sequence[str], stance: np.ndarray) -> ClaimModels:
    """Make the models from their features and weights."""
    pairs = ((names, weights), (stance_names, stance))
    return ClaimModels(*(Softmax({name: k for k, name in enumerate(n)}, w.astype(np.float32)) for n, w in pairs))


def save(model: ClaimModels, path: Path, made_of: str) -> None:
    """Write the models in whole numbers of a byte, with the hash of what they were made of."""
    parts: dict[str, Any] = {"made_of": np.array(made_of)}
    for name, one in (("relation", model.relations), ("stance", model.stances)):
        scale = np.abs(one.weights).max(axis=0) / 127
        whole = np.round(one.weights / scale).astype(np.int8)
        whole[np.abs(whole) <= SLIGHT] = 0
        kept = whole[:-1].any(axis=1)
        names = np.array("\n".join(n for n, k in zip(one.columns, kept, strict=True) if k))
        parts |= {f"{name}_names": names, f"{name}_scale": scale.astype(np.float32),
                  f"{name}_weights": np.vstack([whole[:-1][kept], whole[-1:]])}  # fmt: skip
    np.savez_compressed(path, allow_pickle=False, **parts)


def train(rows: Sequence[Row], frames: Sequence[Row]) -> ClaimModels:
    """Fit both models."""
    relation = train_relation([*rows, *frames[::3]], PENALTY_RELATION)
    stance = train_stance([*rows, *frames], PENALTY_STANCE)
    return model_of(*relation, *stance)


def judge(rows: Sequence[Row], frames: Sequence[Row]) -> None:
    """Print how well sentences are read by models that did not see them."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    confused: Counter[tuple[str, str]] = Counter()
    for fold in range(FOLDS):
        model = train([r for r in rows if r.group % FOLDS != fold], [r for r in frames if r.group % FOLDS != fold])
        for row in (r for r in rows if r.group % FOLDS == fold):
            reading = model.relation(row.tokens, *_ends(row))
            best = reading[0] if reading and reading[0].p > 1 - sum(r.p for r in reading) else None
            name = row.relation.value if row.relation else "none"
            got = best.relation.value if best else "none"
            good = got == name and (best is None or best.subject == row.subject or best.relation in SYMMETRIC)
            right["relation"] += good
            total["relation"] += 1
            total[f"  {name}"] += 1
            right[f"  {name}"] += good
            if not good:
                confused[name, got if got != name else "turned"] += 1
            found = model.stance(row.tokens)
            stance = max(found, key=lambda name: found[name])
            right["stance"] += stance == row.stance
            total["stance"] += 1
            total[f" {row.stance}"] += 1
            right[f" {row.stance}"] += stance == row.stance
            if stance != row.stance:
                confused[row.stance, stance] += 1
                if "-v" in sys.argv:
                    print(row.stance, stance, " ".join(row.tokens))
    for name in sorted(total):
        print(f"{name:<24}{right[name] / total[name]:.3f}  of {total[name]}")
    for (name, got), count in confused.most_common(30):
        print(f"{name} as {got}: {count}")


def _ends(row: Row) -> tuple[NodeType, NodeType]:
    return row.types if row.subject == FIRST else (row.types[1], row.types[0])


def main() -> None:
    """Train and write, or judge."""
    sentences, more, frames_file = training_files()
    rows = rows_of(sentences) + rows_of(more)
    lines = [line for path in (sentences, more) for line in path.read_text(encoding="utf-8").splitlines()]
    frames = framed(frames_file, lines, each=12)
    if "--judge" in sys.argv:
        judge(rows, frames)
        return
    model = train(rows, frames)
    save(model, FILE, sources_hash())
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB from {len(rows)} sentences and {len(frames)} framed ones")


if __name__ == "__main__":
    main()
