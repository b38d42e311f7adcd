"""A trace as named tables: time split, op and kernel tables, idle gaps, copies, collectives."""
