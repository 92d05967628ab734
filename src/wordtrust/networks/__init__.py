"""Word networks: the HWCN, the classic confusion network, alignment, labels, and building a store of them."""
