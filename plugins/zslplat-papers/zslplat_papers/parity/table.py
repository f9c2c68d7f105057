"""Every method with a paper beside the equations of its paper: one case for each variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from zslplat.errors import UnknownNameError
from zslplat_papers.parity import closed_forms, other_kinds, training
from zslplat_papers.parity.cases import Case, Pairs, Parity

_RIDGES: dict[str, Any] = {"alpha": 0.3, "gamma": 2.0}
_GAUSSIAN: dict[str, Any] = {"kernel": "gaussian(sigma=1)"}
_SUPERVISED: dict[str, Any] = {**_GAUSSIAN, "atoms": 6, "iterations": 2}
_HINGE: dict[str, Any] = {"lam": 0.01, "gap": 1e-8, "passes": 20000}
_GATES: tuple[tuple[str, str, Callable[[Any], Pairs], dict[str, Any]], ...] = (
    ("gaussian", "a density below its quantile", training.cmt_gaussian, {}),
    ("loop", "local outlier probabilities", training.cmt_loop, {"neighbours": 4}),
)
_STEP = "steps of 64 rows, on all violators of each"
_LABELS = "labels are 0 and 1, as in common code; ridges are in units of mean eigenvalues"
_RIDGE = "kernel ridge regression in place of nu-SVR"
_KERNEL_RIDGE = "k (K + alpha I)^-1 Y S (S'S + gamma I)^-1, Y of -1 and 1"
_SPARSE = "min |phi(x) - Phi(D) y|^2 + gamma |y|_1 (7)"
_LOCAL = "min |phi(x) - Phi(B) y|^2 with 1'y = 1 (11), with a small ridge"
_CLASSIFIER = "W = eta L'Y (eta Y'Y + M rho I)^-1 (23)"
_BILINEAR = "(K o YY' + M rho / (eta c) I) C = L (24)"
_MIXED = "w_c = sum_r s_cr v_r, V = pinv(S) W"
_IMPROVED = "signatures centred and split, a ridge on U, no scaling of columns, metric of the residual"


def _both(
    name: str, equation: str, reference: Callable[[Any], Pairs], why: str, tolerance: float = 1e-6, **parameters: Any
) -> tuple[Case, Case]:
    """Return the default, which departs, and the printed variant of a method."""
    return (
        Case(name, equation, reference, why, tolerance, parameters),
        Case(f"{name}(variant=paper)", equation, reference, "", tolerance, parameters),
    )


def _equal(
    method: str, equation: str, reference: Callable[[Any], Pairs], tolerance: float = 1e-6, **parameters: Any
) -> Case:
    """Return a method that has the equation."""
    return Case(method, equation, reference, "", tolerance, parameters)


CASES: tuple[Case, ...] = (
    *_both("ale", "sampled step with beta of floor((C-1)/N)", training.ale, _STEP),
    _equal("bi-skllc", _BILINEAR, other_kinds.supervised, **_SUPERVISED, neighbours=4),
    _equal("bi-sksc", _BILINEAR, other_kinds.supervised, **_SUPERVISED, gamma=0.01),
    Case("class-means", "", why="a control of this platform: no paper prints it"),
    *_both("cmt", "J = 1/2n |S - F|^2", training.cmt, "weights and biases are penalised", hidden=5),
    _equal("cmt(variant=authors)", "J + 5e-5 |theta|^2 + 5 sum_j KL(0.035 || q_j)", training.cmt_authors, hidden=5),
    *(
        _equal(f"cmt-{name}{variant}", f"P(y|x) mixed by {gate}", reference, hidden=5, **more)
        for name, gate, reference, more in _GATES
        for variant in ("", "(variant=paper)", "(variant=authors)")
    ),
    _equal("conse", "cosine with sum_t p_t s_t / sum_t p_t", closed_forms.conse, 1e-3, T=3),
    _equal("cosine", "<a, b> / |a| |b|", other_kinds.cosine),
    _equal("cosine-adapter", "min sum_c n_c |m_c - t_c W|^2 + ridge |W - I|^2", closed_forms.cosine_adapter),
    _equal("cosine-centred", "cos(x - mean x, t_c - mean t)", closed_forms.cosine_centred),
    *(
        _equal(f"cosine-em{weights}", "EM of von Mises-Fisher about the texts", closed_forms.cosine_em, iterations=4)
        for weights in ("", "(weights=learned)")
    ),
    _equal("cosine-signatures", "<x, t_c> / |x| |t_c|", closed_forms.cosine_signatures),
    *_both(
        "dap",
        "chi-squared SVM, Platt; sum_m log p(a_m|x) - log p(a_m)",
        closed_forms.dap,
        "logistic regressions in place of support vector machines",
        1e-3,
    ),
    *_both("devise", "the hinge of the first violator", training.devise, _STEP),
    *_both(
        "eszsl",
        "(X'X + alpha I)^-1 X'Y S (S'S + gamma I)^-1, Y of -1 and 1",
        closed_forms.eszsl,
        _LABELS,
        **_RIDGES,
    ),
    Case("eszsl-smoothed", "", why="a control of this platform: no paper prints it"),
    Case("eszsl-smoothed(variant=paper)", "", why="eszsl as printed, smoothed: no paper prints that"),
    *_both("exem-1nn", "nu-SVR of every direction; nearest exemplar", closed_forms.exem, _RIDGE, 1e-3),
    *_both("exem-1nns", "nu-SVR of every direction; standardised distance", closed_forms.exem, _RIDGE, 1e-3),
    Case(
        "exemplar-svm",
        "min |w|^2 / 2 + C sum of squared hinges, free offset",
        other_kinds.exemplar_svm,
        "liblinear penalises the offset as well",
    ),
    Case("fsasl", "", why="no reference of the whole; tests compare structure, shares and regression"),
    _equal("gfhf", "(S'Y'Y S + alpha I) M = S'Y'X: prototypes", closed_forms.gfhf),
    *_both(
        "gfzsl",
        "log N(x; k (K + l1 I)^-1 M, exp(k (K + l2 I)^-1 log(V + e)) + r)",
        closed_forms.gfzsl,
        "means and log-variances are centred, ridges relative to the data",
    ),
    *_both(
        "gfzsl-em",
        "EM from the printed Gaussians, variances at least 0.4",
        closed_forms.gfzsl_em,
        "starts with the ridge added; bound and ridges relative to the data",
    ),
    _equal("iap", "p(a_m|x) = sum_y p(y|x) a_m^y, then as DAP", closed_forms.iap, 1e-3),
    _equal("iap(variant=authors)", "P rownorm(B) colnorm(B_u)'", closed_forms.iap_linear, 1e-3),
    *_both(
        "jlse",
        "min_z of reconstruction and match, for each class",
        training.jlse,
        "codes of new rows by reconstruction alone",
        1e-5,
        latent=3,
    ),
    _equal("kbow", "softmax of -sigma |phi(x) - phi(d)|^2 (4-6)", other_kinds.kbow, **_GAUSSIAN),
    Case("keszsl", _KERNEL_RIDGE, closed_forms.keszsl, _LABELS, parameters=_RIDGES),
    _equal("keszsl(labels=signed, scale=absolute)", _KERNEL_RIDGE, closed_forms.keszsl, **_RIDGES),
    _equal("kllc", _LOCAL, other_kinds.local, **_GAUSSIAN, neighbours=5),
    _equal(
        "kllc(variant=full)",
        "min |phi(x) - Phi(D) y|^2 + gamma |E y|^2 with 1'y = 1 (9), E of exp(+sigma d)",
        other_kinds.full_local,
        1e-4,
        **_GAUSSIAN,
    ),
    _equal("ksc", _SPARSE, other_kinds.sparse, **_GAUSSIAN, gamma=0.02),
    _equal(
        "kslem",
        "minimum of the square loss in the space of the kernel",
        other_kinds.kslem,
        1e-5,
        **_GAUSSIAN,
        scale="absolute",
        rank=None,
        lam=0.05,
        theta=0.7,
    ),
    _equal("l-skllc", _CLASSIFIER, other_kinds.supervised, **_SUPERVISED, neighbours=4),
    _equal("l-sksc", _CLASSIFIER, other_kinds.supervised, **_SUPERVISED, gamma=0.01),
    Case("l20alm", "", why="not convex; tests compare it with the best of all sets of features"),
    _equal("lasso-attributes", "min |S - X W|^2 / 2n + strength |W|_1", other_kinds.lasso),
    _equal("lasso-labels", "min |Y - X W|^2 / 2n + strength |W|_1", other_kinds.lasso),
    *_both(
        "latem", "one drawn class a row, W_k* -= eta x s_c', W_k+ += eta x s_y'", training.latem, "steps of 64 rows"
    ),
    _equal("latem(variant=authors)", "the same, eta = .001, features over their largest entry", training.latem),
    _equal("lc-ksvd", "matching pursuit on the learned atoms", other_kinds.lc_ksvd, nonzeros=3, iterations=2),
    _equal("llc", _LOCAL, other_kinds.local, neighbours=5),
    _equal("mcfs", "LARS of the eigenvectors of the graph", other_kinds.mcfs, clusters=3, cardinality=4),
    *_both("mfmr", "Eq. 9 and 10, Algorithm 1", training.mfmr, _IMPROVED),
    *_both("mfmr-joint", "Eq. 9 and 13, Algorithms 1 and 2", training.mfmr_joint, _IMPROVED),
    _equal("mutual-information", "I(x_j; y) by neighbours", other_kinds.mutual_information),
    Case("random-features", "", why="draws an order: there is nothing to compare"),
    _equal("ridge-prototypes", "ridge regression over rows, free offset", closed_forms.ridge_prototypes),
    _equal("sae", "A W + lambda W B = (1 + lambda) C", closed_forms.sae),
    _equal("sc", _SPARSE, other_kinds.sparse, gamma=0.02),
    *_both(
        "semfs",
        "Eq. 8, 10 and 11, Algorithm 1",
        other_kinds.semfs,
        "the printed problem has no minimiser: s is 0 or 1 with k ones (Eq. 4)",
        scale="absolute",
    ),
    *_both("semfs-c", "Eq. 8, 10 and 11 with alpha = 0", other_kinds.semfs, "as semfs", scale="absolute"),
    *_both("sje", "the worst class a row, W += eta x (s_y - s_c)'", training.sje, "steps of 64 rows"),
    _equal("sje(variant=authors)", "the same, eta = .001, features over their largest entry", training.sje),
    _equal("slem", "w = c A^-1 (x - mu): minimum of the square loss", other_kinds.slem, scale="absolute", lam=0.05),
    _equal("src", "least residual of the codes of a class (27)", other_kinds.sparse, gamma=0.02),
    *_both("sse-int", "hinges over constraints, psi = min(x, v)", training.sse, "hinges have a rounded corner"),
    *_both("sse-relu", "hinges over constraints, psi = max(0, x - v)", training.sse, "hinges have a rounded corner"),
    _equal("sync-cs", f"Crammer-Singer hinge; {_MIXED}", closed_forms.sync, 1e-3, **_HINGE),
    _equal("sync-ovo", f"squared hinge; {_MIXED}", closed_forms.sync, 1e-4, lam=0.01, gap=1e-12),
    _equal("sync-struct", f"hinge with margins |a_c - a_y|; {_MIXED}", closed_forms.sync, 1e-3, **_HINGE),
    *_both("tmv-hlp", "ten steps L <- (I - alpha S)^-1 L", training.tmv_hlp, "one step"),
    _equal("variance", "variance of each feature", other_kinds.variance),
    _equal("whitening", "cosine after C^-1/2 (x - mu)", other_kinds.whitening),
    _equal("wknn", "|Y - P Y|^2 / n + l1 sum w, leaving each row out", other_kinds.wknn),
    *(
        _equal(f"{name}{variant}", equation, training.zskl, 1e-5)
        for name, equation in (("zskl", "Eq. 10 and 12"), ("zskl-ort", "Eq. 9 and 12"))
        for variant in ("", "(variant=paper)")
    ),
    _equal("zskl-ort(variant=authors)", "Eq. 9; least loss of a right class", training.zskl, 1e-5),
    Case("zskl-subspaces", "", why="the paper leaves it for later and prints no equation"),
)


def cases_of(methods: Iterable[str]) -> list[Case]:
    """Return the cases of these methods, of all for none; raises :class:`UnknownNameError` for a name without."""
    chosen, compared = list(methods), sorted({case.name for case in CASES})
    for name in chosen:
        if name not in compared:
            raise UnknownNameError("method of a paper", name, compared)
    return [case for case in CASES if not chosen or case.name in chosen]


def parity(methods: Iterable[str] = ()) -> list[Parity]:
    """Return what comes of the cases of these methods, of all for none."""
    return [case.run() for case in cases_of(methods)]
