import sys

from gym.propara.cli import main

sys.exit(main(sys.argv[1:]))
