"""Who chooses source rows: GASTL, kernel mean matching, multiscale landmark selection, and the controls."""

from .base import NothingRelevant as NothingRelevant
from .base import SourceSelector as SourceSelector
from .controls import AllSelector as AllSelector
from .controls import NeighborSelector as NeighborSelector
from .controls import RandomSelector as RandomSelector
from .gastl import Diagnostics as Diagnostics
from .gastl import GASTLSelector as GASTLSelector
from .kmm import KMMSelector as KMMSelector
from .mls import MLSSelector as MLSSelector
