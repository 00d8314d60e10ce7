0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=query
0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=document
0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=document --format=json
0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=query --set head.query.attend=true
0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=query --set head.query.cut=false --prompt-name=
2 run tests/cli/tasks.yaml --quiet --task=query --ids
2 run tests/cli/tasks.yaml --quiet --task=query --pairs
2 run tests/cli/tasks.yaml --quiet --task=passage
2 run tests/cli/tasks.yaml --task=query --attention=a.svg
2 run models/g2p-en/g2p-en.yaml --task=query
3 run models/attention.yaml --task=query
0 run tests/cli/tasks.yaml --march=generic --no-records --quiet --task=query --set=masking=[causal,prefix] --set=head.query.attend=true
