"""Parts that all Python tests share."""
