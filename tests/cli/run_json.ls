x.svg
