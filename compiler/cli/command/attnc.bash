_attnc()
{
    local IFS=$'\n' cur=${COMP_WORDS[COMP_CWORD]} prefix= found
    found=$("${COMP_WORDS[0]/#\~/$HOME}" complete \
        "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | cut -f 1)
    [ "$cur" != = ] || cur=
    [[ $cur != --*=* ]] || prefix=${cur%%=*}=
    case $found in
    :*) compopt -o filenames 2> /dev/null
        cur=${cur#"$prefix"} ;;
    esac
    case $found in
    :files) COMPREPLY=($(compgen -P "$prefix" -f -- "$cur")) ;;
    :specs) COMPREPLY=($(compgen -P "$prefix" -d -- "$cur"
        compgen -P "$prefix" -f -X '!*.y*ml' -- "$cur")) ;;
    *)  COMPREPLY=($(compgen -W "$found" -- "$cur")) ;;
    esac
    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2> /dev/null
}
complete -F _attnc attnc
