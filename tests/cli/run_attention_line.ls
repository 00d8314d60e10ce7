a.svg
