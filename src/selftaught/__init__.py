"""Self-taught learning with source selection: which unlabelled rows help a few labelled ones, and by how much."""

from .classifiers import GASTLClassifier as GASTLClassifier
from .classifiers import SelfTaughtClassifier as SelfTaughtClassifier
from .classifiers import SoftmaxClassifier as SoftmaxClassifier
from .classifiers import TransferRefused as TransferRefused
from .encoders import RDSTLEncoder as RDSTLEncoder
from .encoders import SLowEncoder as SLowEncoder
from .encoders import STLEncoder as STLEncoder
from .selectors import AllSelector as AllSelector
from .selectors import GASTLSelector as GASTLSelector
from .selectors import KMMSelector as KMMSelector
from .selectors import MLSSelector as MLSSelector
from .selectors import NeighborSelector as NeighborSelector
from .selectors import RandomSelector as RandomSelector
from .source import SourcePool as SourcePool

__version__ = "0.1.0"

__all__ = [
    "AllSelector",
    "GASTLClassifier",
    "GASTLSelector",
    "KMMSelector",
    "MLSSelector",
    "NeighborSelector",
    "RDSTLEncoder",
    "RandomSelector",
    "STLEncoder",
    "SLowEncoder",
    "SelfTaughtClassifier",
    "SoftmaxClassifier",
    "SourcePool",
    "TransferRefused",
]
