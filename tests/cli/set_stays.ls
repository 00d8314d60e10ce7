g
