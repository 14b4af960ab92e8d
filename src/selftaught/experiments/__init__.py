"""The experiments of the paper's section 5: splits, methods and grids as data, a runner, tables."""

from .protocol import DATASETS as DATASETS
from .protocol import METHODS as METHODS
from .protocol import Unit as Unit
from .protocol import all_units as all_units
from .records import read_records as read_records
from .records import read_units as read_units
from .results import write_results as write_results
from .runner import run as run
from .splits import TextFeatures as TextFeatures
from .units import Place as Place
