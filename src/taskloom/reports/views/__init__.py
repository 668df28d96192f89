"""The views of studies: a file for each, which declares its options, checks them, and draws."""
