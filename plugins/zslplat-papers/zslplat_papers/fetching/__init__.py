"""Public data sets by name: their feature cards, the download of their files, and cards in the form of Croissant."""
