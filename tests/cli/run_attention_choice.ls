a.json
a.svg
d.svg
e.svg
h.svg
i.json
n.json
q.svg
