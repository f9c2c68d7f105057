"""Every method with its preprocessing, as a scikit-learn estimator (by tests/front/estimator_stub.py)."""

# fmt: off
from typing import Literal

from zslplat.families.coding.model import CodingPipeline
from zslplat.families.exemplars.model import ExemplarPipeline
from zslplat.families.selection.model import SelectionPipeline
from zslplat.families.zero_shot.pipeline import ZeroShotPipeline
from zslplat.kernels.base import Kernel

class ALE(ZeroShotPipeline):
    """Bilinear compatibility, weighted approximate ranking loss."""

    def __init__(self, *, rate: float = 0.03, decay: float = 0.0, epochs: int = 40, batch_size: int = 64,
        margin: float = 1.0, start: float = 1.0, precision: Literal['single', 'double'] = 'single', seed: int = 0,
        variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class BilinearSupervisedLLC(CodingPipeline):
    """Supervised locality-constrained kernel coding, bilinear classifier."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'class-k-means',
        atoms: int | None = None, threads: int = 1, seed: int = 0, neighbours: int = 30, epsilon: float = 0.03,
        learning: Literal['fixed', 'free', 'constrained'] = 'free', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 1e-05, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', eta: float = 0.1, recode: bool = True,
        features: str | None = None, signatures: str | None = None) -> None: ...

class BilinearSupervisedSparseCoding(CodingPipeline):
    """Supervised kernel sparse coding, bilinear classifier."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'class-k-means',
        atoms: int | None = None, threads: int = 1, seed: int = 0, gamma: float = 0.001,
        learning: Literal['fixed', 'free', 'constrained'] = 'constrained', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 1e-05, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', eta: float = 0.1, recode: bool = True,
        features: str | None = None, signatures: str | None = None) -> None: ...

class CMT(ZeroShotPipeline):
    """Cross-modal transfer: two tanh layers from features to signatures, nearest signature."""

    def __init__(self, *, hidden: int = 100, lam: float = 0.01, layers: Literal[2, 1] = 2, sparsity: float = 0.0,
        rho: float = 0.035, penalise_biases: bool = True, rounds: int = 20, stop: float = 1e-05, seed: int = 0,
        variant: Literal['default', 'paper', 'authors'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class CMTGaussian(ZeroShotPipeline):
    """Cross-modal transfer; rows of low density among the seen classes are given unseen ones."""

    def __init__(self, *, hidden: int = 100, lam: float = 0.01, layers: Literal[2, 1] = 2, sparsity: float = 0.0,
        rho: float = 0.035, penalise_biases: bool = True, rounds: int = 20, stop: float = 1e-05, seed: int = 0,
        variant: Literal['default', 'paper', 'authors'] = 'default', gate: Literal['soft', 'hard'] = 'hard',
        penalty: float = 0.001, quantile: float = 0.1, features: str | None = None,
        signatures: str | None = None) -> None: ...

class CMTLoop(ZeroShotPipeline):
    """Cross-modal transfer; rows that are outliers in all seen classes are given unseen ones."""

    def __init__(self, *, hidden: int = 100, lam: float = 0.01, layers: Literal[2, 1] = 2, sparsity: float = 0.0,
        rho: float = 0.035, penalise_biases: bool = True, rounds: int = 20, stop: float = 1e-05, seed: int = 0,
        variant: Literal['default', 'paper', 'authors'] = 'default', gate: Literal['soft', 'hard'] = 'soft',
        penalty: float = 0.001, neighbours: int = 20, significance: float = 3.0, threshold: float = 0.5,
        reference: int | None = 200, features: str | None = None, signatures: str | None = None) -> None: ...

class ClassMeans(ZeroShotPipeline):
    """Nearest class mean, signatures only for classes without rows (control for few-shot tasks)."""

    def __init__(self, *, shrinkage: float = 5.0, temperature: float = 0.05, features: str | None = None,
        signatures: str | None = None) -> None: ...

class ConSE(ZeroShotPipeline):
    """Convex combination of the signatures of the likeliest seen classes."""

    def __init__(self, *, C: float = 10.0, T: int = 10, features: str | None = None,
        signatures: str | None = None) -> None: ...

class Cosine(ExemplarPipeline):
    """Cosine between features: no learning."""

    def __init__(self, *, center: bool = False, features: str | None = None, signatures: str | None = None) -> None: ...

class CosineAdapter(ZeroShotPipeline):
    """Cosine after a linear map of the signatures, ridge regression towards the identity, closed form."""

    def __init__(self, *, alpha: float = 1.0, features: str | None = None, signatures: str | None = None) -> None: ...

class CosineCentred(ZeroShotPipeline):
    """Cosine after centring the rows of the batch and the candidate signatures (modality gap, hubs)."""

    def __init__(self, *, features: str | None = None, signatures: str | None = None) -> None: ...

class CosineEM(ZeroShotPipeline):
    """Von Mises-Fisher mixture on the scored batch that begins at the signatures of a shared space."""

    def __init__(self, *, concentration: float = 30.0, prior: float = 0.3, iterations: int = 50,
        weights: Literal['equal', 'learned'] = 'equal', features: str | None = None,
        signatures: str | None = None) -> None: ...

class CosineSignatures(ZeroShotPipeline):
    """Cosine of rows and signatures of a shared space, such as CLIP's: no learning."""

    def __init__(self, *, features: str | None = None, signatures: str | None = None) -> None: ...

class DAP(ZeroShotPipeline):
    """A calibrated classifier for every attribute, and the class by its attributes."""

    def __init__(self, *, C: float = 10.0, classifier: Literal['logistic', 'svm', 'chi-squared'] = 'logistic',
        variant: Literal['default', 'paper'] = 'default', threshold: Literal['overall', 'attribute'] = 'overall',
        prior: bool = True, clip: float = 1e-06, features: str | None = None,
        signatures: str | None = None) -> None: ...

class DeViSE(ZeroShotPipeline):
    """Bilinear compatibility, hinge summed over all wrong classes."""

    def __init__(self, *, rate: float = 0.01, decay: float = 0.0, epochs: int = 40, batch_size: int = 64,
        margin: float = 0.1, start: float = 1.0, precision: Literal['single', 'double'] = 'single', seed: int = 0,
        variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class ESZSL(ZeroShotPipeline):
    """Bilinear compatibility with two ridges, closed form."""

    def __init__(self, *, alpha: float = 1.0, gamma: float = 1.0, labels: Literal['signed', 'binary'] = 'binary',
        scale: Literal['mean', 'absolute'] = 'mean', variant: Literal['default', 'paper'] = 'default',
        features: str | None = None, signatures: str | None = None) -> None: ...

class Exem1NN(ZeroShotPipeline):
    """Nearest exemplar predicted from the signature, Euclidean distance in principal directions."""

    def __init__(self, *, gamma: float = 1.0, alpha: float = 0.1, C: float = 1.0, nu: float = 0.5,
        dimensions: int = 500, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class Exem1NNs(ZeroShotPipeline):
    """Nearest exemplar predicted from the signature, distance standardised by the deviation inside classes."""

    def __init__(self, *, gamma: float = 1.0, alpha: float = 0.1, C: float = 1.0, nu: float = 0.5,
        dimensions: int = 500, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class ExemplarSVM(ExemplarPipeline):
    """One linear SVM per row against the negatives; the slow rival of slem."""

    def __init__(self, *, C: float = 1.0, positive_weight: float = 10.0,
        loss: Literal['hinge', 'squared_hinge'] = 'squared_hinge', negatives: int | None = None, iterations: int = 1000,
        seed: int = 0, features: str | None = None, signatures: str | None = None) -> None: ...

class FSASL(SelectionPipeline):
    """Unsupervised feature selection with adaptive structure learning."""

    def __init__(self, *, global_weight: float = 1.0, local_weight: float = 1.0, sparsity: float = 0.1,
        strength: float = 0.01, neighbours: int = 5, clusters: int | None = None, iterations: int = 5,
        rows: int | None = 500, seed: int = 0, features: str | None = None, signatures: str | None = None,
        count: int = 50) -> None: ...

class GFHF(ZeroShotPipeline):
    """Label propagation from the signatures through the graph of the scored batch."""

    def __init__(self, *, alpha: float = 1.0, k: int = 10, anchors: int = 50, balance: float = 0.75,
        features: str | None = None, signatures: str | None = None) -> None: ...

class GFZSL(ZeroShotPipeline):
    """Class-conditional Gaussians predicted from signatures by kernel ridge regression."""

    def __init__(self, *, kernel: str | Kernel = 'polynomial(r=2, c=1.0*square)', mean_ridge: float = 0.05,
        variance_ridge: float = 1.0, reg: float = 0.5, floor: float = 0.001,
        variant: Literal['default', 'paper'] = 'default', seen_classes: Literal['predicted', 'own'] = 'predicted',
        features: str | None = None, signatures: str | None = None) -> None: ...

class IAP(ZeroShotPipeline):
    """Probabilities of attributes by way of the seen classes."""

    def __init__(self, *, C: float = 10.0, threshold: Literal['overall', 'attribute'] = 'overall',
        score: Literal['product', 'linear'] = 'product', variant: Literal['default', 'authors'] = 'default',
        prior: bool = True, clip: float = 1e-06, features: str | None = None,
        signatures: str | None = None) -> None: ...

class JLSE(ZeroShotPipeline):
    """Matches of latent codes of signatures (simplex) and rows (dictionary), learned jointly in turns."""

    def __init__(self, *, latent: int = 100, gamma: float = 0.3, match: float = 1.0, lam: float = 0.01,
        noise: float = 1.0, dictionary: float = 0.001, score: Literal['reconstruction', 'match'] = 'reconstruction',
        rounds: int = 10, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class KernelBagOfWords(CodingPipeline):
    """Kernel bag of words."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0, assignment: Literal['soft', 'hard'] = 'soft',
        sigma: float = 10.0, learning: Literal['fixed', 'free', 'constrained'] = 'fixed', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 0.0001, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', features: str | None = None,
        signatures: str | None = None) -> None: ...

class KernelESZSL(ZeroShotPipeline):
    """ESZSL with any positive semidefinite kernel, closed form."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian(sigma=0.7*median)', alpha: float = 1.0, gamma: float = 1.0,
        labels: Literal['signed', 'binary'] = 'binary', scale: Literal['mean', 'absolute'] = 'mean', rank: int = 500,
        exact_rows: int = 3000, features: str | None = None, signatures: str | None = None) -> None: ...

class KernelLLC(CodingPipeline):
    """Locality-constrained kernel coding."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0,
        variant: Literal['approximate', 'full'] = 'approximate', neighbours: int = 30, epsilon: float = 0.03,
        gamma: float = 0.0001, sigma: float = 2.0, learning: Literal['fixed', 'free', 'constrained'] = 'fixed',
        iterations: int = 8, learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed',
        include_prior: bool = False, togetherness: float = 1.0,
        rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto', rho: float = 0.0001,
        code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', features: str | None = None,
        signatures: str | None = None) -> None: ...

class KernelSLEM(ExemplarPipeline):
    """Square-loss exemplar machines in closed form, any kernel, full or low rank."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian', lam: float = 0.001,
        scale: Literal['variance', 'absolute'] = 'variance', theta: float = 1.0,
        scores: Literal['cosine', 'raw'] = 'cosine', rank: int | None = 1000,
        landmarks: Literal['cholesky', 'nystrom', 'kmeans'] = 'cholesky', residual: float = 0.0, candidates: int = 8192,
        seed: int = 0, features: str | None = None, signatures: str | None = None) -> None: ...

class KernelSparseCoding(CodingPipeline):
    """Kernel sparse coding."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0, gamma: float = 0.001,
        learning: Literal['fixed', 'free', 'constrained'] = 'fixed', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 0.0001, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', features: str | None = None,
        signatures: str | None = None) -> None: ...

class L20ALM(SelectionPipeline):
    """Robust regression on labels with exactly k features."""

    def __init__(self, *, k: int | None = None, penalty: float = 0.01, growth: float = 1.05, iterations: int = 500,
        target: Literal['attributes', 'labels'] = 'labels', rows: int | None = 2000, seed: int = 0,
        features: str | None = None, signatures: str | None = None, count: int = 50) -> None: ...

class LCKSVD(CodingPipeline):
    """Label-consistent K-SVD."""

    def __init__(self, *, atoms: int | None = None, nonzeros: int = 30, alpha: float = 0.1, beta: float = 0.1,
        rho: float = 0.0001, scale: Literal['mean', 'absolute'] = 'mean', iterations: int = 10, seed: int = 0,
        features: str | None = None, signatures: str | None = None) -> None: ...

class LLC(CodingPipeline):
    """Locality-constrained linear coding."""

    def __init__(self, *, kernel: str | Kernel = 'linear',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0,
        variant: Literal['approximate', 'full'] = 'approximate', neighbours: int = 30, epsilon: float = 0.03,
        gamma: float = 0.0001, sigma: float = 2.0, learning: Literal['fixed', 'free', 'constrained'] = 'fixed',
        iterations: int = 8, learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed',
        include_prior: bool = False, togetherness: float = 1.0,
        rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto', rho: float = 0.0001,
        code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', features: str | None = None,
        signatures: str | None = None) -> None: ...

class LassoAttributes(SelectionPipeline):
    """LASSO on class or row signatures."""

    def __init__(self, *, strength: float = 0.1, target: Literal['attributes', 'labels'] = 'attributes',
        score: Literal['length', 'largest'] = 'length', features: str | None = None, signatures: str | None = None,
        count: int = 50) -> None: ...

class LassoLabels(SelectionPipeline):
    """LASSO on one-hot class labels."""

    def __init__(self, *, strength: float = 0.1, target: Literal['attributes', 'labels'] = 'labels',
        score: Literal['length', 'largest'] = 'length', features: str | None = None, signatures: str | None = None,
        count: int = 50) -> None: ...

class LatEm(ZeroShotPipeline):
    """Largest of K bilinear compatibilities, hinge of one wrong class drawn for each row."""

    def __init__(self, *, rate: float = 0.1, decay: float = 0.0, epochs: int = 60, batch_size: int = 64,
        margin: float = 1.0, start: float = 1.0, precision: Literal['single', 'double'] = 'single', seed: int = 0,
        maps: int = 2, variant: Literal['default', 'paper', 'authors'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class LinearSupervisedLLC(CodingPipeline):
    """Supervised locality-constrained kernel coding, linear classifier."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'class-k-means',
        atoms: int | None = None, threads: int = 1, seed: int = 0, neighbours: int = 30, epsilon: float = 0.03,
        learning: Literal['fixed', 'free', 'constrained'] = 'free', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 1e-05, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', eta: float = 0.1, recode: bool = True,
        features: str | None = None, signatures: str | None = None) -> None: ...

class LinearSupervisedSparseCoding(CodingPipeline):
    """Supervised kernel sparse coding, linear classifier."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'class-k-means',
        atoms: int | None = None, threads: int = 1, seed: int = 0, gamma: float = 0.001,
        learning: Literal['fixed', 'free', 'constrained'] = 'constrained', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 1e-05, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', eta: float = 0.1, recode: bool = True,
        features: str | None = None, signatures: str | None = None) -> None: ...

class MCFS(SelectionPipeline):
    """Multi-cluster feature selection: sparse regression of a spectral embedding."""

    def __init__(self, *, neighbours: int = 5, heat: bool = False, clusters: int | None = None, cardinality: int = 50,
        rows: int | None = 3000, seed: int = 0, features: str | None = None, signatures: str | None = None,
        count: int = 50) -> None: ...

class MFMR(ZeroShotPipeline):
    """Non-negative tri-factorisation with a feature graph, common prediction scheme."""

    def __init__(self, *, lam: float = 0.1, k: int = 10, k_features: int | None = None, k_instances: int | None = None,
        ridge: float = 0.3, compare: Literal['residual', 'features', 'inverse'] = 'residual', shrinkage: float = 5.0,
        temperature: float = 0.05, labels: Literal['fixed', 'free'] = 'fixed', gamma_fit: float = 1.0,
        label_anchor: float = 0.0, rounds: int = 5, iterations: int | None = None, converged_at: float | None = None,
        variant: Literal['default', 'paper'] = 'default', seed: int = 0, features: str | None = None,
        signatures: str | None = None) -> None: ...

class MFMRJoint(ZeroShotPipeline):
    """Non-negative tri-factorisation with graphs over features and over the scored batch."""

    def __init__(self, *, lam: float = 0.1, k: int = 10, k_features: int | None = None, k_instances: int | None = None,
        ridge: float = 0.3, compare: Literal['residual', 'features', 'inverse'] = 'residual', shrinkage: float = 5.0,
        temperature: float = 0.05, labels: Literal['fixed', 'free'] = 'fixed', gamma_fit: float = 1.0,
        label_anchor: float = 0.0, rounds: int = 5, iterations: int | None = None, converged_at: float | None = None,
        variant: Literal['default', 'paper'] = 'default', seed: int = 0, gamma: float = 5.0, anchor: float = 0.75,
        scale: float = 0.3, balance: float = 0.75, features: str | None = None,
        signatures: str | None = None) -> None: ...

class MutualInformation(SelectionPipeline):
    """Features by mutual information with the class."""

    def __init__(self, *, neighbours: int = 3, rows: int | None = 2000, seed: int = 0, features: str | None = None,
        signatures: str | None = None, count: int = 50) -> None: ...

class RandomFeatures(SelectionPipeline):
    """Features in random order."""

    def __init__(self, *, seed: int = 0, features: str | None = None, signatures: str | None = None,
        count: int = 50) -> None: ...

class RidgePrototypes(ZeroShotPipeline):
    """Nearest prototype by ridge regression from signatures to features, closed form (control for mfmr)."""

    def __init__(self, *, alpha: float = 1.0, shrinkage: float = 5.0, temperature: float = 0.05,
        features: str | None = None, signatures: str | None = None) -> None: ...

class SAE(ZeroShotPipeline):
    """Semantic autoencoder, closed form; both directions of comparison."""

    def __init__(self, *, lam: float = 1.0, direction: Literal['s->f', 'f->s'] = 's->f', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SJE(ZeroShotPipeline):
    """Bilinear compatibility, hinge of the worst wrong class."""

    def __init__(self, *, rate: float = 0.03, decay: float = 0.0, epochs: int = 40, batch_size: int = 64,
        margin: float = 1.0, start: float = 1.0, precision: Literal['single', 'double'] = 'single', seed: int = 0,
        variant: Literal['default', 'paper', 'authors'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SLEM(ExemplarPipeline):
    """Square-loss exemplar machines in closed form, linear."""

    def __init__(self, *, lam: float = 0.01, scale: Literal['variance', 'absolute'] = 'variance', theta: float = 1.0,
        scores: Literal['cosine', 'raw'] = 'cosine', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SRC(CodingPipeline):
    """Sparse representation-based classification."""

    def __init__(self, *, kernel: str | Kernel = 'normalised(linear)',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0, gamma: float = 0.01, features: str | None = None,
        signatures: str | None = None) -> None: ...

class SSEIntersection(ZeroShotPipeline):
    """Classes as mixtures of seen classes, rows by intersections with one point of each; max-margin."""

    def __init__(self, *, gamma: float = 0.3, ridge: float = 0.001, align: float = 1.0, shrink: float = 0.001,
        rounds: int = 10, reference_steps: int = 10, rows_per_class: int | None = 100, gap: float = 0.01,
        converged_at: float = 0.01, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SSERectified(ZeroShotPipeline):
    """Classes as mixtures of seen classes, rows by what exceeds one point of each; max-margin."""

    def __init__(self, *, gamma: float = 0.3, ridge: float = 0.001, align: float = 1.0, shrink: float = 0.001,
        rounds: int = 10, reference_steps: int = 10, rows_per_class: int | None = 100, gap: float = 0.01,
        converged_at: float = 0.01, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SemFS(SelectionPipeline):
    """Zero-shot feature selection from class signatures and class centres; well-posed and as printed."""

    def __init__(self, *, variant: Literal['binary', 'convex', 'sum', 'paper', 'ridge'] = 'binary', alpha: float = 1.0,
        gamma: float = 0.03, k: int | None = None, scale: Literal['mean', 'absolute'] = 'mean',
        target: Literal['attributes', 'labels'] = 'attributes', decorrelation: float = 0.5,
        start: Literal['convex', 'uniform'] = 'convex', start_gamma: float = 0.5, iterations: int = 20,
        inner_steps: int = 1, precision: float = 1e-09, warm_start: bool = False, features: str | None = None,
        signatures: str | None = None, count: int = 50) -> None: ...

class SemFSWithoutCentres(SelectionPipeline):
    """SemFS without the loss on class centres (alpha = 0)."""

    def __init__(self, *, variant: Literal['binary', 'convex', 'sum', 'paper', 'ridge'] = 'binary', alpha: float = 0.0,
        gamma: float = 0.03, k: int | None = None, scale: Literal['mean', 'absolute'] = 'mean',
        target: Literal['attributes', 'labels'] = 'attributes', decorrelation: float = 0.5,
        start: Literal['convex', 'uniform'] = 'convex', start_gamma: float = 0.5, iterations: int = 20,
        inner_steps: int = 1, precision: float = 1e-09, warm_start: bool = False, features: str | None = None,
        signatures: str | None = None, count: int = 50) -> None: ...

class SmoothedESZSL(ZeroShotPipeline):
    """ESZSL with scores smoothed over the graph of the scored batch (control for joint methods)."""

    def __init__(self, *, alpha: float = 1.0, gamma: float = 1.0, labels: Literal['signed', 'binary'] = 'binary',
        scale: Literal['mean', 'absolute'] = 'mean', variant: Literal['default', 'paper'] = 'default',
        smoothing: float = 10.0, k: int = 10, temperature: float = 0.5, balance: float = 0.75,
        features: str | None = None, signatures: str | None = None) -> None: ...

class SparseCoding(CodingPipeline):
    """Linear sparse coding."""

    def __init__(self, *, kernel: str | Kernel = 'linear',
        dictionary: Literal['samples', 'class-samples', 'k-means', 'class-k-means'] = 'samples',
        atoms: int | None = None, threads: int = 1, seed: int = 0, gamma: float = 0.001,
        learning: Literal['fixed', 'free', 'constrained'] = 'fixed', iterations: int = 8,
        learn_kernel: Literal['fixed', 'bandwidth', 'weights', 'weights-paper'] = 'fixed', include_prior: bool = False,
        togetherness: float = 1.0, rule: Literal['auto', 'residual', 'nearest', 'linear', 'bilinear'] = 'auto',
        rho: float = 0.0001, code_scaling: Literal['raw', 'l2'] = 'raw', scale: Literal['mean', 'absolute'] = 'mean',
        indefinite: Literal['refuse', 'clip'] = 'refuse', features: str | None = None,
        signatures: str | None = None) -> None: ...

class SynCCrammerSinger(ZeroShotPipeline):
    """Synthesised classifiers, multi-class hinge of the seen classes (Crammer-Singer)."""

    def __init__(self, *, lam: float = 0.000244141, scale: float = 1.0, rcond: float = 1e-08,
        seen_classifiers: Literal['synthesised', 'trained'] = 'synthesised', gap: float = 0.001, passes: int = 200,
        features: str | None = None, signatures: str | None = None) -> None: ...

class SynCOneVersusOther(ZeroShotPipeline):
    """Synthesised classifiers, squared hinge of one seen class against the others."""

    def __init__(self, *, lam: float = 0.000244141, scale: float = 1.0, rcond: float = 1e-08,
        seen_classifiers: Literal['synthesised', 'trained'] = 'synthesised', gap: float = 1e-06, steps: int = 50,
        features: str | None = None, signatures: str | None = None) -> None: ...

class SynCStructured(ZeroShotPipeline):
    """Synthesised classifiers, multi-class hinge with distances of signatures as margins."""

    def __init__(self, *, lam: float = 0.000244141, scale: float = 1.0, rcond: float = 1e-08,
        seen_classifiers: Literal['synthesised', 'trained'] = 'synthesised', gap: float = 0.001, passes: int = 200,
        features: str | None = None, signatures: str | None = None) -> None: ...

class TMVHLP(ZeroShotPipeline):
    """Label propagation over a hypergraph across the views of the scored batch."""

    def __init__(self, *, ridge: float = 1.0, shrinkage: float = 0.1, power: float = 4.0, dimensions: int = 256,
        projections: Literal['both', 'regressed', 'attributes'] = 'both', nearest: float = 0.5, k: int = 20,
        links: float = 0.4, semantic_weight: float = 1.0, hypergraph: float = 0.75, alpha: float = 0.5,
        balance: float = 0.0, steps: int = 1, variant: Literal['default', 'paper'] = 'default',
        features: str | None = None, signatures: str | None = None) -> None: ...

class TransductiveGFZSL(ZeroShotPipeline):
    """GFZSL with its Gaussians refined by expectation maximisation on the scored batch."""

    def __init__(self, *, kernel: str | Kernel = 'polynomial(r=2, c=1.0*square)', mean_ridge: float = 0.05,
        variance_ridge: float = 1.0, reg: float = 0.5, floor: float = 0.001,
        variant: Literal['default', 'paper'] = 'default', seen_classes: Literal['predicted', 'own'] = 'predicted',
        iterations: int = 20, bound: float = 1.0, features: str | None = None,
        signatures: str | None = None) -> None: ...

class Variance(SelectionPipeline):
    """Features by variance, scaled to [0, 1]."""

    def __init__(self, *, features: str | None = None, signatures: str | None = None, count: int = 50) -> None: ...

class Whitening(ExemplarPipeline):
    """Cosine after whitening by the negatives, or between exemplar discriminants (LDA)."""

    def __init__(self, *, form: Literal['whiten', 'lda'] = 'whiten', shrinkage: float = 0.01,
        components: int | None = None, features: str | None = None, signatures: str | None = None) -> None: ...

class WkNN(SelectionPipeline):
    """Weighted nearest-neighbour feature selection."""

    def __init__(self, *, l0: float = 0.0, l1: float = 0.001, l2: float = 0.0, step: float = 0.1, iterations: int = 100,
        target: Literal['attributes', 'labels'] = 'labels', rows: int | None = 500, seed: int = 0,
        features: str | None = None, signatures: str | None = None, count: int = 50) -> None: ...

class ZSKL(ZeroShotPipeline):
    """Zero-shot kernel learning, one projection (Eq. 10)."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian(sigma=0.7*median)', lam: float = 1.0, rate: float = 0.0005,
        epochs: int = 10, batch_size: int = 64,
        right_weight: Literal['mean-class-size', 'class-size', 'wrong-classes'] = 'mean-class-size',
        loss: Literal['auto', 'squared', 'plain'] = 'auto', gamma: float = 0.99, epsilon: float = 1e-08,
        decay: float = 1.0, rule: Literal['kernel', 'loss'] = 'kernel',
        precision: Literal['single', 'double'] = 'single', seed: int = 0, negatives: int | None = None,
        moment: Literal['batch', 'row'] = 'batch', learn_weights: bool = False, reshuffle: bool = True,
        steps: int | None = None, variant: Literal['default', 'paper'] = 'default', features: str | None = None,
        signatures: str | None = None) -> None: ...

class ZSKLOrt(ZeroShotPipeline):
    """Zero-shot kernel learning, weakly incoherent (Eq. 9; Eq. 11 for dot-product kernels)."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian(sigma=0.4*median)', lam: float = 1.0, rate: float = 0.0005,
        epochs: int = 10, batch_size: int = 64,
        right_weight: Literal['mean-class-size', 'class-size', 'wrong-classes'] = 'mean-class-size',
        loss: Literal['auto', 'squared', 'plain'] = 'auto', gamma: float = 0.99, epsilon: float = 1e-08,
        decay: float = 1.0, rule: Literal['kernel', 'loss'] = 'kernel',
        precision: Literal['single', 'double'] = 'single', seed: int = 0, negatives: int | None = None,
        moment: Literal['batch', 'row'] = 'batch', learn_weights: bool = False, reshuffle: bool = True,
        steps: int | None = None, variant: Literal['default', 'paper', 'authors'] = 'default', alpha: float = 0.1,
        features: str | None = None, signatures: str | None = None) -> None: ...

class ZSKLSubspaces(ZeroShotPipeline):
    """Zero-shot kernel learning with class-wise subspaces."""

    def __init__(self, *, kernel: str | Kernel = 'gaussian(sigma=0.7*median)', lam: float = 1.0, rate: float = 0.0005,
        epochs: int = 5, batch_size: int = 256,
        right_weight: Literal['mean-class-size', 'class-size', 'wrong-classes'] = 'mean-class-size',
        loss: Literal['auto', 'squared', 'plain'] = 'auto', gamma: float = 0.99, epsilon: float = 1e-08,
        decay: float = 1.0, rule: Literal['kernel', 'loss'] = 'kernel',
        precision: Literal['single', 'double'] = 'single', seed: int = 0, drawn_classes: int = 8, neighbours: int = 4,
        width: float | str = '0.35*median', ridge: float = 0.001, features: str | None = None,
        signatures: str | None = None) -> None: ...
