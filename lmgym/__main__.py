"""Entry point of `python -m lmgym` and of the console script."""

import sys


def run() -> None:
    """Run the command line and exit with its status. A closed pipe, or Ctrl-C while packages are still being imported,
    prints no traceback."""
    try:
        from lmgym.cli import main

        status = main(sys.argv[1:])
        if status == 0 and sys.stdout is not None:  # None: standard output was closed at startup
            sys.stdout.flush()
    except BrokenPipeError:
        from lmgym.cli.shared import silence

        silence()
        status = 0
    except OSError as error:  # for example, standard output is redirected to a full disk
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
