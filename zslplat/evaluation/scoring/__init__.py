"""What a scorer does with a job: it prepares, trains, scores, and writes down what came of it."""
