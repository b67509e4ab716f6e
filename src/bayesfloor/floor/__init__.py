"""The job: `estimate`, the rule, the result, `compare`, `from_scores`, `noise_check`, `plan`, checkpoints."""
