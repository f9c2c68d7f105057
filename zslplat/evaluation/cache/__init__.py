"""What is made once and kept on disk: arrays, problems, and their way to another machine."""
