"""``python -m reproduction``."""

import sys

from .reproduce import main

if __name__ == "__main__":
    sys.exit(main())
