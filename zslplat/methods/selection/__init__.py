"""Feature selection: rank the features with seen classes only, so that they tell unseen classes apart."""
