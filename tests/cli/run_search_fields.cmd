0 run models/g2p-en/g2p-en.yaml --set=search.repetition_penalty=1.5 --set=search.no_repeat_ngram=2
0 run models/g2p-en/g2p-en.yaml --set=search.repetition_penalty=1.5 --set=search.no_repeat_ngram=2 --repetition-penalty=1 --no-repeat-ngram=0
0 run models/g2p-en/g2p-en.yaml --set=search.min_length=12
0 run models/g2p-en/g2p-en.yaml --set=search.min_total=12
0 run models/g2p-en/g2p-en.yaml --set=search.min_length=12 --min-length=0
0 run models/g2p-en/g2p-en.yaml --set=search.min_total=12 --min-length=3
