"""Several recognizers at once.

systems, system_output    the systems to combine, and what each of them said
combine                   the job of `wordtrust combine`: fit, measure all subsets, write words
subset_comparison         choice by confidence, and error rates of every subset by every method
rover, rover_kernels      NIST's voting, with confidences
nist_rover                NIST's voting to the word, of words that have none
error_regression          choice by expected errors
joint/                    one network of the hypotheses of all
combination_file          what was fitted, in one folder
"""
