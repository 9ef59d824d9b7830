"""`python -m perpend`: the program without its script."""

from perpend.cli import main

if __name__ == "__main__":
    main()
