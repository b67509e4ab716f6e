"""Arguments checked, threads, progress, whole-or-nothing files, binomial intervals."""
