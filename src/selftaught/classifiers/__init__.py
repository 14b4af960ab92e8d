"""Classifiers that learn from a labelled target and an unlabelled source."""

from .gastl import GASTLClassifier as GASTLClassifier
from .self_taught import SelfTaughtClassifier as SelfTaughtClassifier
from .self_taught import TransferRefused as TransferRefused
from .softmax import SoftmaxClassifier as SoftmaxClassifier
