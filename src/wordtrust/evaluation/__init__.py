"""How good words and confidences are.

evaluation         error rates and scored words of a corpus, which add up over batches
metrics/           word errors, EER, NCE, AUC, ECE, intervals over speakers, thresholds
threshold, tune    the jobs of `wordtrust threshold` and `wordtrust tune`
corpus_counts      the job of `wordtrust info`
eer_nce            EER and NCE in plain numpy, for machines that only train
"""
