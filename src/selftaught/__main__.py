"""``python -m selftaught``: the command line."""

from .cli import main

raise SystemExit(main())
