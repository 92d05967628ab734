"""Training of the confidence model, a bidirectional lattice RNN.

- `prepare` makes training data of stores, `dataset` holds and packs them, `batches` puts them on a device;
- `lattice_rnn` is the whole network with its loss, `lstm_kernels` its fast path on a CPU, `trainer` the whole loop;
- `pipeline` goes from data to a model folder, `multi_recognizer` trains one network for several recognizers,
  `study_training` runs all trainings of a study;
- `options` and `worker` say how and where.

`python -m wordtrust.training` trains from a packed file with numpy, torch and safetensors alone.
"""
