"""Adapts the sentence encoder to questions and writes `engine/planning/data/encoder.npz`; then `make planner`.

    python scripts/train_encoder.py     # half an hour on two cores; needed seldom, when many questions came

The encoder that ships in a package knows sentences in general, not that "who does best" asks to compare. Its upper
layers get low-rank corrections (Hu et al. 2022, LoRA), trained to tell the analyses of the example questions apart. Two
writers in ten are left out, so that `train_planner.py` can fit its temperatures on writers the encoder has not seen.
"""

from __future__ import annotations

import math
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.adapters import embedding_files
from engine.planning.choose import ENCODER, UNSEEN
from engine.planning.wording import spoken
from engine.toolbox.analyses import all_examples, load_analyses
from scripts.train_planner import noisy

RANK, LAYERS, ROUNDS, BATCH = 8, 4, 3, 32
RATE, RATE_HEAD = 2e-3, 1e-2
SHARPNESS = 10.0
"""Vectors have length 1; their products with the weights of a class are multiplied by this."""
SEED = 20261122


def parts_of(layer: Any) -> dict[str, tuple[Any, str]]:
    """Return name -> (module, attribute) of the linear maps of one layer that are corrected."""
    attention = layer.attention
    return {
        "attention.self.query": (attention.self, "query"), "attention.self.key": (attention.self, "key"),
        "attention.self.value": (attention.self, "value"), "attention.output.dense": (attention.output, "dense"),
        "intermediate.dense": (layer.intermediate, "dense"), "output.dense": (layer.output, "dense"),
    }  # fmt: skip


def main() -> int:
    """Train and write the file."""
    import torch
    from torch import nn
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(mode=True)
    chance = random.Random(SEED)  # noqa: S311 - reproducible on purpose
    folder = str(embedding_files.find_default().folder)
    pieces, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)

    class Corrected(nn.Module):
        """A linear map plus a correction of low rank."""

        def __init__(self, plain: Any) -> None:
            super().__init__()
            self.plain = plain
            self.down = nn.Parameter(torch.randn(RANK, plain.in_features) / math.sqrt(plain.in_features))
            self.up = nn.Parameter(torch.zeros(plain.out_features, RANK))

        def forward(self, rows: Any) -> Any:
            return self.plain(rows) + (rows @ self.down.T) @ self.up.T

    for weight in network.parameters():
        weight.requires_grad_(requires_grad=False)
    corrected = {}
    depth = len(network.encoder.layer)
    for at in range(depth - LAYERS, depth):
        for name, (module, attribute) in parts_of(network.encoder.layer[at]).items():
            corrected[f"encoder.layer.{at}.{name}"] = Corrected(getattr(module, attribute))
            setattr(module, attribute, corrected[f"encoder.layer.{at}.{name}"])
    trained = [weight for module in corrected.values() for weight in (module.down, module.up)]

    def vectors(texts: list[str]) -> Any:
        given = pieces(texts, padding=True, truncation=True, max_length=96, return_tensors="pt")
        states = network(**given).last_hidden_state
        mask = given["attention_mask"][..., None].float()
        return nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)

    place = {name: at for at, name in enumerate(sorted(load_analyses()))}
    examples = [example for example in all_examples() if example.writer not in UNSEEN]
    held = [example for example in all_examples() if example.writer in UNSEEN]
    head = nn.Linear(384, len(place))
    nn.init.zeros_(head.weight)
    optimiser = torch.optim.AdamW(
        [{"params": trained, "lr": RATE}, {"params": head.parameters(), "lr": RATE_HEAD}], weight_decay=0.01
    )
    steps = ROUNDS * math.ceil(2 * len(examples) / BATCH)
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=[RATE, RATE_HEAD], total_steps=steps + 1, pct_start=0.1
    )
    step, begun = 0, time.monotonic()
    for turn in range(ROUNDS):
        network.train()
        texts = [(e.plain, place[e.analysis]) for e in examples]
        texts += [(spoken(noisy(e.text, chance)), place[e.analysis]) for e in examples]
        chance.shuffle(texts)
        near = [texts[at : at + 20 * BATCH] for at in range(0, len(texts), 20 * BATCH)]
        texts = [item for some in near for item in sorted(some, key=lambda t: len(t[0]))]  # batches of similar length
        batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        chance.shuffle(batches)
        for batch in batches:
            scores = head(vectors([text for text, _ in batch]) * SHARPNESS)
            loss = nn.functional.cross_entropy(
                scores, torch.tensor([label for _, label in batch]), label_smoothing=0.05
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            rate.step()
            step += 1
            if step % 100 == 0:
                print(f"step {step} of {steps}  loss {loss.item():.2f}  {time.monotonic() - begun:.0f} s", flush=True)
        network.eval()
        with torch.no_grad():
            found = [
                int(best)
                for at in range(0, len(held), 64)
                for best in head(vectors([e.plain for e in held[at : at + 64]]) * SHARPNESS).argmax(dim=1)
            ]
        right = np.mean([best == place[e.analysis] for best, e in zip(found, held, strict=True)])
        print(f"round {turn + 1}: of {len(held)} questions by unseen writers {right:.3f} as typed", flush=True)
        write({name: (module.down, module.up) for name, module in corrected.items()})
    return 0


def write(found: dict[str, tuple[Any, Any]]) -> None:
    """Write the corrections as 16-bit numbers: `NAME.down` (rank x in) and `NAME.up` (out x rank)."""
    arrays = {f"{name}.{kind}": weight.detach().numpy().astype(np.float16)
              for name, pair in found.items() for kind, weight in zip(("down", "up"), pair, strict=True)}  # fmt: skip
    np.savez_compressed(ENCODER, **arrays)
    print(f"{ENCODER.name}: {ENCODER.stat().st_size / 1024:.0f} kB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
