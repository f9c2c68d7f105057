"""Jobs of zslplat on the workers of a Dask cluster: :class:`zslplat_dask.cluster.Cluster` at the leader."""
