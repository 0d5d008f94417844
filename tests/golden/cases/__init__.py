"""One module for each family of layers; see ../make_golden.py."""
