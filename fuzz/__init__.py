"""A campaign of random fits, each judged from outside: ``python -m fuzz``."""
