0 run models/g2p-en/g2p-en.yaml --prompt=attention --draft=ngram --quiet
0 run models/g2p-en/g2p-en.yaml --prompt=banana --temperature=1 --draft=ngram --quiet
0 run tests/cli/small.yaml --ids --prompt=3 --draft=ngram --quiet
0 run tests/cli/small.yaml --ids --prompt=3 --quiet
4 run models/g2p-en/g2p-en.yaml --prompt=hello --draft=best
3 run models/g2p-en/g2p-en.yaml --prompt=hello --draft=models/tiny.yaml
2 run models/g2p-en/g2p-en.yaml --prompt=hello --draft=ngram --beam=4
2 run models/g2p-en/g2p-en.yaml --draft=ngram
2 run tests/cli/recurrent.yaml --ids --prompt=3 --draft=ngram
2 run tests/cli/small.yaml --set fix.target=4 --ids --prompt=3 --draft=ngram
