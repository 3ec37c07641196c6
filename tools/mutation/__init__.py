"""What `tools/mutate.py --draw` is made of: see the heads of the files, and docs/develop/testing.md."""
