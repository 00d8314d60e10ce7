g.txt
