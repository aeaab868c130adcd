"""The papers' training loops, literally and slowly, in NumPy: each yields its state as it goes, to be followed."""
