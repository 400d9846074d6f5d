"""The parts of Ask: a file and how it was taken, the question and how it was read, the answer, the thread."""
