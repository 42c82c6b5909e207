"""`python -m surebox_client.commands` is `surebox`, wherever the script of that name is."""

from surebox_client.commands.main import main

main()
