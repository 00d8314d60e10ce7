3 run tests/tokenizers/pairs.yaml --set d_model=4,d_ff=4,head=pool --march=generic --pairs
3 run tests/tokenizers/pairs.yaml --set d_model=4,d_ff=4,head=pool --march=generic --pairs --max-input 9 --format=json
3 run tests/tokenizers/pairs.yaml --set d_model=4,d_ff=4,head=pool,embedding.types=1 --march=generic --pairs
