0 run models/g2p-en/g2p-en.yaml --repetition-penalty=1.5 --no-repeat-ngram=2
