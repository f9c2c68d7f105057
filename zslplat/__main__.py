"""``python -m zslplat``: the same program as the console script ``zslplat``."""

from zslplat.cli import main

if __name__ == "__main__":
    main()
