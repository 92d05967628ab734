"""A confidence for every word.

features, word_table, word_vectors, phones    what a model sees of an arc
lattice_rnn, lattice_rnn_kernels, levels      the network without torch
model_file, model_card, config, tensors       a model on disk
word_scorer                                   a model at work: lattices in, transcripts out
choice, calibration/                          how words are chosen; confidences to probabilities
calibrate_model, calibrate_scores, evaluate_model, adapt    the jobs of the verbs of the same names
out_of_domain, unusual                        speech that is unlike all that a model knows
shipped/                                      models that come with the package
warm_up                                       kernels compiled by two processes
"""
