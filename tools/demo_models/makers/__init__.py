"""Makers of questions and answers; importing the package fills registry.MAKERS."""
from . import general, geography, numbers, words  # noqa: F401
from .registry import MAKERS  # noqa: F401
