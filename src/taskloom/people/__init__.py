"""What people think of instructions and of answers: sheets to fill in, and what comes of them."""
