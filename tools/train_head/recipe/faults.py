"""Faults that end the program with one line."""


class Fault(Exception):
    pass


def need(package: str):
    """Imports a package by name, or says how to get it."""
    try:
        return __import__(package)
    except ImportError as error:
        raise Fault(f"this step needs the Python package {package}: pip install {package} ({error})") from None
