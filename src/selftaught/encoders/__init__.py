"""Who re-represents rows: methods whose source acts through a dictionary, and whose classifier sees codes."""

from .base import SourceEncoder as SourceEncoder
from .rdstl import RDSTLEncoder as RDSTLEncoder
from .stl import STLEncoder as STLEncoder
