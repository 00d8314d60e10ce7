function __attnc
    set -l words (commandline -opc)
    $words[1] complete $words[2..] (commandline -ct) 2> /dev/null
end
complete -c attnc -f -a '(__attnc | string match -v ":*")'
complete -c attnc -n '__attnc | string match -q :files' -F
complete -c attnc -n '__attnc | string match -q :specs' \
    -k -a '(__fish_complete_suffix .yaml)'
