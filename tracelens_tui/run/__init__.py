"""The run directory: schemas, store, journal, lock, watcher."""
