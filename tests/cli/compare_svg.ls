layers.svg
