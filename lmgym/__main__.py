"""`python -m lmgym` and the console script: the command line."""

import sys


def run() -> None:
    """End the process with the status of the command. Quiet where the reader closed the pipe, or after Ctrl-C while
    packages were still being imported."""
    try:
        from lmgym.cli import main

        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        from lmgym.cli.shared import silence

        silence()
        status = 0
    except KeyboardInterrupt:
        sys.stderr.write("lmgym: interrupted\n")
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
