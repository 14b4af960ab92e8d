"""Problems with a known answer: the demo, simulators with planted relevance, and the open-set splitter."""

from .demo import load_demo as load_demo
from .open_set import open_set_split as open_set_split
from .problem import TransferProblem as TransferProblem
from .simulators import PlantedMapping as PlantedMapping
from .simulators import make_open_set as make_open_set
from .simulators import make_paper_shape as make_paper_shape
from .simulators import make_planted_mapping as make_planted_mapping
