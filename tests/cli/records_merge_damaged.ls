tune.txt
tune.txt.lock
