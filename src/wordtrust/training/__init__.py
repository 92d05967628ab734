"""The confidence model (DESIGN, section 5): a bidirectional lattice RNN, trained with torch, run without it.

- without torch: `config` sizes and names of weights, `levels` the order of computation, `node_levels`, `files` the
  model folder, `tensors` what both kinds of files share, `scorer` the forward pass in numpy and numba;
- with torch: `cells`, `recurrence` and `network` the network, `data` its batches, `train` the loop, `checkpoint`,
  `machine` where it runs, `run` from data to a model folder;
- `prepare` makes training data of stores, `arrays` holds them, `pack` writes them to one file; `python -m
  wordtrust.training` trains from such a file with numpy, torch and safetensors alone.
"""
