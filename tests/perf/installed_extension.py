"""An extension as a package would install it; the tests announce it."""

CATEGORIES = {"installed::op": "MyOps"}
