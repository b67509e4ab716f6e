"""The formulas as plain loops: slow, obviously right, compared with by the tests."""

from itertools import permutations

import numpy as np


def ball_counts(points, labels, n_classes, radii):
    """n_c(x; r): points of class c within r of x, x itself left out."""
    n = len(points)
    counts = np.zeros((n, n_classes, len(radii)), dtype=int)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            squared = 0.0
            for a, b in zip(points[i], points[j], strict=True):
                squared += (b - a) * (b - a)
            for r, radius in enumerate(radii):
                if squared <= radius * radius:
                    counts[i, labels[j], r] += 1
    return counts


def ensemble_ratios(counts, own, weights):
    """R_c(x) = sum_l w_l n_c(x; r_l) / (n_k(x; r_l) + 1)."""
    n, n_classes, n_radii = counts.shape
    ratios = np.ones((n, n_classes))
    for i in range(n):
        for c in range(n_classes):
            if c == own[i]:
                continue
            ratios[i, c] = sum(weights[r] * counts[i, c, r] / (counts[i, own[i], r] + 1) for r in range(n_radii))
    return ratios


def t(u):
    """Kink function of the paper."""
    return max(0.0, 1.0 - u)


def ordered_error(ratios, own, order, n_classes):
    """E = 1 - p_1 - (1/N) sum_{k>=2} sum_{y_i=k} t(max_{c<k} R_c(x_i))."""
    n = len(own)
    error = 1 - sum(y == order[0] for y in own) / n
    for i in range(n):
        before = list(order)[: list(order).index(own[i])]
        if before:
            error -= t(max(ratios[i, c] for c in before)) / n
    return error


def mean_over_orders(ratios, own, n_classes):
    """Ordered estimate averaged over all class orders, by brute force."""
    orders = list(permutations(range(n_classes)))
    return sum(ordered_error(ratios, own, order, n_classes) for order in orders) / len(orders)


def one_sided(ratios, own, k):
    """Two classes: p_k mean over class k of min(1, R_other)."""
    members = [i for i in range(len(own)) if own[i] == k]
    return sum(min(1.0, ratios[i, 1 - k]) for i in members) / len(own)


def suspects(posterior, labels):
    """Rows with p(label) < mean/2 and below another's, the sum of P/mean of the others at least 1; by p(label)."""
    n, n_classes = posterior.shape
    means = []
    for c in range(n_classes):
        own = [posterior[i][c] for i in range(n) if labels[i] == c]
        means.append(sum(own) / len(own))
    found = []
    for i in range(n):
        p = posterior[i][labels[i]]
        others = [c for c in range(n_classes) if c != labels[i]]
        is_likeliest = all(p >= posterior[i][c] for c in others)
        if p < means[labels[i]] / 2 and not is_likeliest and sum(posterior[i][c] / means[c] for c in others) >= 1:
            found.append((p, i))
    return [i for _, i in sorted(found)]
