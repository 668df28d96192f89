"""Function tasks: small functions of words, and what is composed of them."""
