bytes
half
state
