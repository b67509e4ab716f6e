"""Files and frames as numbers, with an account of every column."""
