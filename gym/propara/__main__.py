import sys

from gym.propara.core.cli import main

sys.exit(main(sys.argv[1:]))
