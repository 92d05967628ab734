"""What every other package stands on.

errors, problems        what is raised on purpose; what readers do with bad input
files, journal          files and folders that appear whole or not at all; resuming long work
json_checks, tensors    typed access to JSON from outside; arrays in safetensors files
arrays, folds           rows in flat arrays by offsets; folds of speakers
jit, blas, threads      compiled kernels, matrix products on one thread, working ahead
table, number_format, progress    what people see on a terminal
"""
