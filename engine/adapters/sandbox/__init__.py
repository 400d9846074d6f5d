"""The parts of the process sandbox: walls, limits, output, the worker's engine side and the self-test."""
