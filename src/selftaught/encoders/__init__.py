"""Who re-represents rows: methods whose source acts through a dictionary, and whose classifier sees codes."""

from .base import SourceEncoder as SourceEncoder
from .rdstl import RDSTLEncoder as RDSTLEncoder
from .slow import SLowDiagnostics as SLowDiagnostics
from .slow import SLowEncoder as SLowEncoder
from .stl import STLEncoder as STLEncoder
