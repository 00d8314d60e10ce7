2 new
2 new berts
2 new ../gpt
2 new gpt bert
2 new gpt --seed 2
0 new --list
