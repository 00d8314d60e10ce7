_attnc()
{
    local line
    local -a found open
    for line in ${(f)"$(${~words[1]} complete \
        "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)"}; do
        case ${line%%$'\t'*} in
        :*) compset -P '--*=' ;|
        :files) _files ;;
        :specs) _files -g "*.(yaml|yml)" ;;
        *=) open+=(${line/$'\t'/:}) ;;
        *)  found+=(${line/$'\t'/:}) ;;
        esac
    done
    _describe attnc found -- open -S ''
}
# read from $fpath it is the function's first call; sourced it is not
if [[ $funcstack[1] == _attnc ]]; then
    _attnc "$@"
else
    compdef _attnc attnc
fi
