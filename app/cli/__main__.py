"""`python -m app.cli` is `surebox`, wherever the script of that name lies."""

from app.cli.main import main

main()
