"""`python -m wordtrust` is the command `wordtrust`."""

from .cli import main

main()
