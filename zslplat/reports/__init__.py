"""Reports: what a study, a suite or a store holds, as one HTML file."""
