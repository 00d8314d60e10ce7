help help
help version
