"""Language models that read the sentences of networks, and what they say as evidence on the arcs.

language_model, loading  what one is; one by the name of its file
arpa                     n-grams of ARPA files
tokens, tries, passes    sentences as trees of tokens, and these as rows for a model
causal                   causal models of transformers: torch is imported here
best_sentences, evidence  the columns `lm_logprob`, `lm_next_logprob`, `lm_share`
scored_sentences         sentences scored on another machine

`python -m wordtrust.language_models` exports and scores sentences, for a machine with a GPU.
"""
