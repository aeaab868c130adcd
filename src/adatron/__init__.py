"""Support vector machines as one convex problem."""
