"""``python -m bayesfloor.paper``."""

import sys

from .reproduce import main

if __name__ == "__main__":
    sys.exit(main())
