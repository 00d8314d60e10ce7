0 run models/g2p-en/g2p-en.yaml --set search.rule=recorded --set search.penalty=power --beam=2 --nbest=4
0 run models/g2p-en/g2p-en.yaml --set search.rule=recorded --set search.penalty=power --set search.beam=2 --nbest=4
0 run models/g2p-en/g2p-en.yaml --beam=1 --nbest=2
0 run models/g2p-en/g2p-en.yaml --beam=2 --nbest=4
