"""Word networks, made of lattices.

hwcn, hwcn_kernels              the heterogeneous word confusion network (docs/method.md)
consensus, consensus_kernels    the classic confusion network and minimum Bayes risk decoding
align, labels                   the one aligner of plain texts; which arcs are right
word_graph, segments, spoken    references with alternatives and segments (STM), as NIST's sclite compares them
word_confidence                 the confidence of an output word, from those of arcs
build_store, tuned_scales       the job of `wordtrust build`; SCALES.json
"""
