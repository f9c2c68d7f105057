"""Matrix tri-factorization with manifold regularizations."""
