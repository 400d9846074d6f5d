"""The model of links: what it learns, that hubs do not win, that nothing leaks, and that its probabilities hold."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from engine.discovery.links import model as model_module
from engine.discovery.links.calibration import calibrate
from engine.discovery.links.logistic import fit_nonnegative
from engine.discovery.links.model import LinkModel
from engine.discovery.links.prior import edge_prior
from engine.discovery.links.reasons import reasons
from engine.discovery.links.typed import MetaStep, TypedEdges

DRUG, GENE, DISEASE = 0, 1, 2
TREATS, BINDS, CAUSED = 0, 1, 2
RELATION = MetaStep(DRUG, TREATS, DISEASE)


def fitted(edges) -> LinkModel:
    model = model_module.fit_links(edges, RELATION)
    assert model is not None
    return model


def made(chance, drugs=80, genes=60, diseases=20, explained=0.9, hub_links=0):
    """Drugs bind genes, genes cause diseases; a drug that binds a gene of a disease treats it, mostly."""
    kinds = [DRUG] * drugs + [GENE] * genes + [DISEASE] * diseases
    binds = {(d, drugs + int(g)) for d in range(drugs) for g in chance.choice(genes, 3, replace=False)}
    causes = {
        (drugs + genes + s, drugs + int(g)) for s in range(diseases) for g in chance.choice(genes, 3, replace=False)
    }
    binds |= {(0, drugs + int(g)) for g in chance.choice(genes, hub_links, replace=False)}
    of = {}
    for disease, gene in causes:
        of.setdefault(gene, []).append(disease)
    treats = {
        (drug, disease) for drug, gene in binds if drug for disease in of.get(gene, []) if chance.random() < explained
    }
    edges = [(a, TREATS, b) for a, b in sorted(treats)] + [(a, BINDS, b) for a, b in sorted(binds)]
    edges += [(a, CAUSED, b) for a, b in sorted(causes)]
    heads, codes, tails = (np.array(part) for part in zip(*edges, strict=True))
    return TypedEdges(np.array(kinds, dtype=np.uint8), heads, tails, codes.astype(np.uint8), np.ones(len(edges)))


@pytest.fixture(scope="module")
def planted():
    edges = made(np.random.default_rng(4))
    return edges, fitted(edges)


def test_links_that_follow_from_paths_are_found_when_hidden(planted):
    _, model = planted
    assert model.quality.auroc > 0.95 > model.quality.prior_auroc
    assert (MetaStep(DRUG, BINDS, GENE), MetaStep(GENE, CAUSED, DISEASE)) in model.paths
    assert (model.weights > 0).all()


def test_probabilities_of_hidden_links_hold(planted):
    _, model = planted
    for predicted, share, links in model.quality.calibration:
        if links >= 30:
            assert predicted == pytest.approx(share, abs=0.12)


def test_links_by_chance_teach_nothing():
    chance = np.random.default_rng(11)
    edges = made(chance)
    treats = edges.codes == TREATS
    tails = edges.tails.copy()
    tails[treats] = chance.integers(140, 160, treats.sum())  # any disease
    random = TypedEdges(edges.node_types, edges.heads, tails, edges.codes, edges.weights)
    model = fitted(random)
    assert model.quality.auroc < 0.65


def test_a_drug_that_binds_everything_is_no_candidate_for_everything():
    """The hub of 60 genes binds the gene of every disease; a drug of three genes that binds one comes before it."""
    edges = made(np.random.default_rng(5), explained=0.7, hub_links=60)
    model = fitted(edges)
    paths, degrees = model.scores(edges)
    chances = model.probability(paths + degrees)
    counts = (edges.matrix(MetaStep(DRUG, BINDS, GENE)) @ edges.matrix(MetaStep(GENE, CAUSED, DISEASE))).toarray()
    others = (edges.matrix(RELATION).toarray() == 0) & (counts > 0)
    others[0] = False
    rows, columns = others.nonzero()
    assert len(rows) > 20
    assert (counts[0][columns] > counts[rows, columns]).mean() > 0.9  # by plain counts the hub comes first
    assert (chances[rows, columns] > chances[0][columns]).mean() > 0.9


def test_a_link_is_not_seen_in_its_own_features():
    """Each drug treats one disease by chance: were a hidden link left in the degrees, degrees alone would find it."""
    chance = np.random.default_rng(3)
    edges = made(chance)
    keep = edges.codes != TREATS
    heads = np.r_[np.arange(40), edges.heads[keep]]
    tails = np.r_[chance.integers(140, 160, 40), edges.tails[keep]]
    codes = np.r_[np.zeros(40, dtype=np.uint8), edges.codes[keep]]
    model = fitted(TypedEdges(edges.node_types, heads, tails, codes, np.ones(len(heads))))
    # A drug whose only link is hidden has none left, so it ranks below those that kept theirs.
    assert model.quality.prior_auroc < 0.6
    assert model.quality.auroc < 0.7


def test_the_same_graph_and_seed_give_the_same_model(planted):
    edges, model = planted
    again = fitted(edges)
    np.testing.assert_array_equal(model.weights, again.weights)
    assert model.intercept == again.intercept


def test_threads_of_a_small_product_do_not_wait_for_each_other(planted, monkeypatch):
    threads = set()

    def watched(*given):
        threads.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return fit_nonnegative(*given)

    monkeypatch.setattr(model_module, "fit_nonnegative", watched)
    with threadpool_limits(2):
        model = fitted(planted[0])
    assert threads == {1}
    np.testing.assert_array_equal(model.weights, planted[1].weights)


def test_few_known_links_are_not_learned_from():
    edges = made(np.random.default_rng(0), drugs=3, genes=30, diseases=2, explained=0.1)
    assert edges.matrix(RELATION).nnz < model_module.LEAST_LINKS
    assert model_module.fit_links(edges, RELATION) is None


def test_the_prior_is_what_shuffled_graphs_hold():
    """Against links drawn by swapping ends, which keeps every degree."""
    chance = np.random.default_rng(2)
    links = {
        (int(a), int(b)) for a, b in zip(chance.pareto(1.5, 250) * 6 % 60, chance.integers(0, 40, 250), strict=True)
    }
    edges, seen, times = [list(link) for link in sorted(links)], np.zeros((60, 40)), 0
    there = set(map(tuple, edges))
    for turn in range(60_000):
        one, two = chance.integers(0, len(edges), 2)
        (a, b), (c, d) = edges[one], edges[two]
        if (a, d) not in there and (c, b) not in there:
            there -= {(a, b), (c, d)}
            there |= {(a, d), (c, b)}
            edges[one], edges[two] = [a, d], [c, b]
        if turn > 5000 and turn % 100 == 0:
            times += 1
            rows, columns = zip(*there, strict=True)
            seen[rows, columns] += 1
    firsts, lasts = np.bincount([a for a, _ in links], minlength=60), np.bincount([b for _, b in links], minlength=40)
    told = edge_prior(firsts[:, None], lasts[None, :], len(links))
    assert np.abs(told - seen / times).mean() < 0.15 * (seen / times).mean()
    assert np.corrcoef(told.ravel(), (seen / times).ravel())[0, 1] > 0.97


def test_weights_are_those_of_the_library_where_none_would_be_below_zero():
    from sklearn.linear_model import LogisticRegression

    chance = np.random.default_rng(6)
    features = chance.normal(size=(400, 3))
    linked = (chance.random(400) < 1 / (1 + np.exp(-(features @ [1.0, 0.5, 2.0] - 1)))).astype(float)
    each = chance.uniform(0.5, 2, 400)
    weights, intercept = fit_nonnegative(features, linked, each, 4.0)
    peer = LogisticRegression(C=0.25, tol=1e-8).fit(features, linked, sample_weight=each)
    np.testing.assert_allclose(weights, peer.coef_[0], atol=1e-3)
    assert intercept == pytest.approx(peer.intercept_[0], abs=1e-3)
    assert fit_nonnegative(-features[:, :1], linked, each, 4.0)[0][0] == 0


def test_calibration_sets_overconfident_odds_right_and_never_turns_the_order():
    chance = np.random.default_rng(8)
    truth = chance.normal(-1, 1.5, 4000)
    linked = (chance.random(4000) < 1 / (1 + np.exp(-truth))).astype(float)
    right = calibrate(3 * truth + 2, linked, np.ones(4000))
    told = right(3 * truth + 2)
    assert np.abs(1 / (1 + np.exp(-told)) - 1 / (1 + np.exp(-truth))).mean() < 0.03
    assert (np.diff(right(np.linspace(-20, 20, 200))) > 0).all()


def test_reasons_add_up_and_the_best_path_is_missed(planted):
    edges, model = planted
    paths, degrees = model.scores(edges)
    row, column = np.unravel_index(np.argmax(paths), paths.shape)
    why = reasons(edges, model, int(edges.members(DRUG)[row]), int(edges.members(DISEASE)[column]), most=10_000)
    assert why.probability == pytest.approx(float(model.probability(paths + degrees)[row, column]))
    assert sum(path.share for path in why.paths) == pytest.approx(1)
    assert len(why.paths) == why.count
    assert why.without_best < why.probability
    for path in why.paths:
        assert len(set(path.nodes)) == len(path.nodes) == len(path.metapath) + 1
        assert path.nodes[0] == edges.members(DRUG)[row]
        assert path.nodes[-1] == edges.members(DISEASE)[column]
