# brctl in bash 4.4 or later: `source` this, or copy it to ~/.local/share/bash-completion/completions/
# Made by `python docs/generate.py`.

_brctl_complete() {
    local program=${1/#\~/"$HOME"}
    mapfile -t COMPREPLY < <(_BRCTL_COMPLETE=complete_bash _BRCTL_LINE=${COMP_LINE:0:COMP_POINT} _BRCTL_TEXT=$2 \
        "$program" 2>/dev/null </dev/null)
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        COMPREPLY=()
        compopt -o default
    elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.:=-] ]]; then
        compopt -o nospace
    fi
}

complete -o nosort -F _brctl_complete brctl br-node-manager br-monitor
