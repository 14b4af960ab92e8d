"""Data to learn from and to measure with.

The embedded demo, simulators with planted relevance, loaders of real collections as their authors ship them (and
`fetch_...`, which get them first), and splits: the paper's and the open-set one. See docs/datasets.md.
"""

from .._download import FetchError as FetchError
from .archives import BadArchive as BadArchive
from .caltech101 import fetch_caltech101 as fetch_caltech101
from .caltech101 import load_caltech101 as load_caltech101
from .demo import load_demo as load_demo
from .imdb import fetch_imdb as fetch_imdb
from .imdb import load_imdb as load_imdb
from .labelled import LabelledItems as LabelledItems
from .office_caltech10 import fetch_office_caltech10 as fetch_office_caltech10
from .office_caltech10 import load_office_caltech10 as load_office_caltech10
from .office_caltech10 import office_caltech10_split as office_caltech10_split
from .open_set import open_set_split as open_set_split
from .problem import TransferProblem as TransferProblem
from .remote import REMOTE_FILES as REMOTE_FILES
from .simulators import PlantedMapping as PlantedMapping
from .simulators import make_open_set as make_open_set
from .simulators import make_paper_shape as make_paper_shape
from .simulators import make_planted_mapping as make_planted_mapping
from .splits import caltech101_splits as caltech101_splits
from .splits import sentiment_splits as sentiment_splits
from .transfer_split import DealtItems as DealtItems
from .transfer_split import TransferSplit as TransferSplit
from .tweets import fetch_tweets as fetch_tweets
from .tweets import load_tweets as load_tweets
