# Temporary until the real one lands.
