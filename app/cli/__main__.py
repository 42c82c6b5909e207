"""`python -m app.cli` is `surebox`, wherever the script of that name is."""

from app.cli.main import main

main()
