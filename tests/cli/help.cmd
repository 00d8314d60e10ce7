0 help
