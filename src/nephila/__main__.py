"""`python -m nephila` is the command line."""

from nephila.cli.app import main

if __name__ == "__main__":
    main()
