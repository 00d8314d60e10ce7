0 run tests/cli/prompts.yaml --march=generic --no-records --quiet
0 run tests/cli/prompts.yaml --march=generic --no-records --quiet --prompt-name=document
0 run tests/cli/prompts.yaml --march=generic --no-records --quiet --prompt-name=
2 run tests/cli/prompts.yaml --march=generic --quiet --prompt-name=passage
2 run tests/cli/prompts.yaml --march=generic --quiet --prompt-name=query --ids
3 run tests/cli/prompts.yaml --march=generic --quiet --prompt-name=query --pairs
2 run models/g2p-en/g2p-en.yaml --prompt-name=query
3 run models/attention.yaml --prompt-name=query
2 import tests/families/bert --vectors=dense -o -
