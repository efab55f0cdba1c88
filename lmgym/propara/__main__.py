import sys

from lmgym.propara.cli import main

sys.exit(main(sys.argv[1:]))
