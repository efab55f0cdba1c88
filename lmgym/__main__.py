"""`python -m lmgym` and the console script: the command line."""

import sys


def run() -> None:
    """End the process with the status of the command. Quiet where the reader closed the pipe, or after Ctrl-C while
    packages were still being imported."""
    try:
        from lmgym.cli import main

        status = main(sys.argv[1:])
        if status == 0 and sys.stdout is not None:  # None: standard output was closed from the beginning
            sys.stdout.flush()
    except BrokenPipeError:
        from lmgym.cli.shared import silence

        silence()
        status = 0
    except OSError as error:  # a full disk behind standard output
        from lmgym.cli.shared import silence

        silence()
        sys.stderr.write(f"lmgym: {error.strerror}\n")
        status = 2
    except KeyboardInterrupt:
        sys.stderr.write("lmgym: interrupted\n")
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()
