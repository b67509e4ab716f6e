from .page import render as render
