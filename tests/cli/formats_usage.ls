x.JSON
x.md
