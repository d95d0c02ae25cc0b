"""`python -m gdnbench` is `gdnbench`."""

from gdnbench.cli import main

main()
