#!/usr/bin/env python3
"""The Vulkan backend under the validation layer, synchronisation included: it must print nothing, and must find a
barrier that was left out.

Usage: validation_test.py VULKAN_TESTS MISSING_BARRIER FOLDER_OF_SOURCES. The layer is what tools/vulkan_run.sh
unpacks; without it the test is skipped, with the reason.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

SOURCES = pathlib.Path(sys.argv.pop(3))
MISSING_BARRIER = sys.argv.pop(2)
SUITE = sys.argv.pop(1)
DEVICE = "vulkan:llvmpipe"
# Each shader in some form; the same calls with other numbers need no second look.
CASES = ("VulkanRows.*:VulkanOpsTest.*:VulkanProductsTest.small*:PipelineFileTest.*:*VulkanCodesTest.has_the_bits*/Q4_K_*:"
         "VulkanAttentionTest.long_texts*:VulkanExpertsTest.*:*VulkanStatesTest.*:"
         "VulkanResultsTest.rows_of_all*:VulkanUnitsTest.products*:VulkanUnitsTest.codes*")
FINDING = re.compile(r"VUID-[\w-]+|SYNC-HAZARD-[\w-]+|Validation (?:Error|Warning)[^\n]*")


def run(*command):
    return subprocess.run([str(SOURCES / "tools" / "vulkan_run.sh"), *command], text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "FORETOKEN_VULKAN_LAYERS": "1"})


class Validation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = run(MISSING_BARRIER, DEVICE, "with")
        if "no validation layer" in result.stdout or "vulkan:llvmpipe" in result.stdout:
            raise unittest.SkipTest("no software device of Vulkan under validation: " + result.stdout.strip())

    def test_a_barrier_that_was_left_out_is_found(self):
        result = run(MISSING_BARRIER, DEVICE)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("SYNC-HAZARD-READ-AFTER-WRITE", result.stdout)
        result = run(MISSING_BARRIER, DEVICE, "with")
        self.assertEqual(result.stdout, "copied\n")

    def test_operations_give_no_cause_to_speak(self):
        result = run(SUITE, "--gtest_filter=" + CASES)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:])
        self.assertIn("[  PASSED  ]", result.stdout)
        self.assertNotIn("SKIPPED", result.stdout)
        self.assertEqual(FINDING.findall(result.stdout), [])


if __name__ == "__main__":
    unittest.main()
