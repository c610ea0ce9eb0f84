# SPDX-License-Identifier: GPL-2.0
"""The histogram of the workloads, compiled and asked."""
import os
import subprocess
import tempfile
import unittest

from benchlib.core import WORKLOADS

PROGRAM = r"""
#include <stdio.h>
#include "hist.h"

static struct hist h;

int main(void)
{
	uint64_t v, last = 0;

	/* Every value is within its bucket, buckets are in order and narrow. */
	for (v = 0; v < 1ULL << 62; v += v / 50 + 1) {
		uint64_t limit = hist_limit(hist_index(v));

		if (limit < v || limit - v > v / 32 || limit < last)
			return printf("%lu %lu\n", v, limit), 1;
		last = limit;
	}
	if (hist_index(~0ULL) >= HIST_BUCKETS)
		return 2;
	for (v = 1; v <= 10000; v++)
		hist_add(&h, v == 10000 ? 123456 : v % 20);
	printf("%lu %lu %lu %lu\n", hist_quantile(&h, 5000),
	       hist_quantile(&h, 9990), hist_quantile(&h, 10000), h.count);
	return 0;
}
"""


class Histogram(unittest.TestCase):
    def test_buckets_and_quantiles(self):
        with tempfile.TemporaryDirectory() as place:
            program = os.path.join(place, "hist")
            subprocess.run(["gcc", "-Wall", "-Werror", f"-I{WORKLOADS}", "-x", "c",
                            "-", "-o", program], input=PROGRAM, text=True, check=True)
            done = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "10 19 123456 10000\n"))
