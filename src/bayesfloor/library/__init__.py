"""Classifiers, cross-fitted at several sizes and pooled; forests of many rows."""
