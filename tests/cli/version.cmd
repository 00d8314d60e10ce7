0 --version
