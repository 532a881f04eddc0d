"""``python -m piolet``."""

import sys

from piolet.cli.main import main

sys.exit(main())
