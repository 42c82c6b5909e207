"""`python -m surebox_verify verify|certify …`, which `surebox verify` and `surebox certify` run."""

import sys

from surebox_verify.cli import certify, verify

if __name__ == "__main__":
    {"verify": verify, "certify": certify}[sys.argv[1]](sys.argv[2:])
