"""Who re-represents rows: methods whose source acts through a dictionary, and whose classifier sees codes."""

from .base import SourceEncoder as SourceEncoder
from .slow import SLowDiagnostics as SLowDiagnostics
from .slow import SLowEncoder as SLowEncoder
