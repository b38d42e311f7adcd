"""What an op ought to cost: platforms, dtypes, categories, one perf model per op family, the roofline."""
