from zslplat.front.benches import bench as bench
from zslplat.front.comparisons import compare as compare
from zslplat.front.datasets import load_dataset as load_dataset
from zslplat.front.datasets import make_dataset as make_dataset
from zslplat.front.evaluations import evaluate as evaluate
from zslplat.front.studies import tune as tune
from zslplat.front.sweeps import sweep as sweep
from zslplat.pipelines.base import make as make
from zslplat.serving.runs import load_model as load_model

__version__: str
