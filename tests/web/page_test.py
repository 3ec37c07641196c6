"""The page in a headless Chromium: what a user does, against a server whose model says what it is told, and
against the demo model with drafts. Skipped (77), with the reason, where there is no Chromium.

    page_test.py PROGRAM SCRIPTED_SERVER MODELS [--screenshots FOLDER] [unittest's words]
"""

import sys
import unittest

import browser as web
from chat_cases import Chat  # noqa: F401
from draft_cases import Drafts  # noqa: F401
from page_case import REST
from tab_cases import Faults, Tabs  # noqa: F401


def reason_to_skip():
    """Why no browser can be had here; None: one can."""
    if lacking := web.missing():
        return f"there is no {' and no '.join(lacking)} (apt-get install chromium chromium-driver)"
    try:
        web.Browser().close()
    except (OSError, RuntimeError) as fault:
        return f"Chromium does not start here: {fault}"
    return None


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"page_test: skipped, because {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *REST])
