"""The page and its pictures, frames for plots, advice."""
