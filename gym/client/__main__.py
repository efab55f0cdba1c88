import sys

from gym.client.cli import main

sys.exit(main())
