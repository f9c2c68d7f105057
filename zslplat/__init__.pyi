from zslplat.front.datasets import load_dataset as load_dataset
from zslplat.front.datasets import make_dataset as make_dataset
from zslplat.front.functions import bench as bench
from zslplat.front.functions import compare as compare
from zslplat.front.functions import datasets as datasets
from zslplat.front.functions import evaluate as evaluate
from zslplat.front.functions import load_model as load_model
from zslplat.front.functions import sweep as sweep
from zslplat.front.functions import tune as tune
from zslplat.listing import kernels as kernels
from zslplat.listing import methods as methods
from zslplat.listing import tasks as tasks
from zslplat.pipelines.base import make as make

__version__: str
