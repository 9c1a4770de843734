# brctl in fish: copy this to ~/.config/fish/completions/
# Made by `python docs/generate.py`.

function _brctl_complete
    set -l line (commandline -cp)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- (commandline -po)[1])
    set -l answer (env _BRCTL_COMPLETE=complete_fish _BRCTL_LINE="$line" $program 2>/dev/null </dev/null)
    if test "$answer" != :files
        string join \n -- $answer
    else if set -l option (string match -r -- '^--[^=]*=' $word)
        string join \n -- $option(__fish_complete_path (string replace -- $option '' $word))
    else
        __fish_complete_path $word
    end
end

complete -c brctl -c br-node-manager -c br-monitor -f -a '(_brctl_complete)'
