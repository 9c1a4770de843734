"""How bash, zsh and fish ask what a line can be completed to, and the scripts that make them ask.

A script gives the line up to the cursor. It gets the last word as it could be, one a line; FILES where the shell is to
list files. It runs the program that was typed, with no argument: that may be bridge-utils' brctl, which acts on some.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from typer._click.shell_completion import CompletionItem, ShellComplete

from .complete import FILES


def answer(command: Any, argv: Sequence[str], instruction: str) -> int:
    """Do what $_BRCTL_COMPLETE says, `complete_bash` or `source_bash`, for the command that `argv` names.

    Gives the exit code. A line that cannot be completed is not the user's business while he types: nothing is printed.
    """
    action, _, name = instruction.partition("_")
    try:
        for word in takewhile(lambda word: not word.startswith("-"), argv):
            command = command.get_command(None, word)
        shell = SHELLS[name](command, {}, "brctl", "_BRCTL_COMPLETE")
        text = shell.source_template if action == "source" else shell.complete()
        print(text, end="\n" * bool(text), flush=True)
    except Exception:
        return 1
    return 0


class _Shell(ShellComplete):
    """Typer's completion, asked and answered alike in all shells. Of Typer's own scripts zsh's evaluates what it gets,
    bash's expands patterns in it, and fish's asks twice; and its answers import rich for the sake of markup."""

    word = ""
    """The one in which the cursor is, up to it."""

    def source_vars(self) -> dict[str, Any]:
        return {}

    def get_completion_args(self) -> tuple[list[str], str]:
        _, *args, self.word = _split(os.environ["_BRCTL_LINE"])
        return args, self.word

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        found = super().get_completions(args, incomplete)
        return [item for item in found if item.value.isprintable()]  # it goes to a terminal

    def format_completion(self, item: CompletionItem) -> str:
        """The whole word, and what it means."""
        if item.help == FILES:
            return FILES
        option, equals, _ = self.word.partition("=")
        joined = option + equals if equals and option.startswith("--") else ""
        return f"{joined}{item.value}" + (f"\t{' '.join(item.help.split())}" if item.help else "")


class _Bash(_Shell):
    source_template = """\
# brctl in bash 4.4 or later: `source` this, or copy it to ~/.local/share/bash-completion/completions/
# Made by `python docs/generate.py`.

_brctl_complete() {
    local program=${1/#\\~/"$HOME"}
    mapfile -t COMPREPLY < <(_BRCTL_COMPLETE=complete_bash _BRCTL_LINE=${COMP_LINE:0:COMP_POINT} _BRCTL_TEXT=$2 \\
        "$program" 2>/dev/null </dev/null)
    if [[ ${COMPREPLY[0]-} == :files ]]; then
        COMPREPLY=()
        compopt -o default
    elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.:=-] ]]; then
        compopt -o nospace
    fi
}

complete -o nosort -F _brctl_complete brctl br-node-manager br-monitor"""

    def format_completion(self, item: CompletionItem) -> str:
        """Without what bash takes for an earlier word: the part up to a `=`, `:` or `@`."""
        whole, text = super().format_completion(item).partition("\t")[0], os.environ["_BRCTL_TEXT"]
        return whole[len(self.word) - len(text) :] if whole != FILES and self.word.endswith(text) else whole


class _Zsh(_Shell):
    source_template = """\
#compdef brctl br-node-manager br-monitor
# brctl in zsh: put the folder of this file into $fpath, before compinit.
# Made by `python docs/generate.py`.

local answer line entry tab=$'\\t' program=${${(Q)words[1]}/#\\~/$HOME}
local -a whole open
answer=$(_BRCTL_COMPLETE=complete_zsh _BRCTL_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \\
    "$program" 2>/dev/null </dev/null)
if [[ $answer == :files ]]; then
    compset -P '--*='
    _files
    return
fi
for line in ${(f)answer}; do
    entry=${${line//:/\\\\:}/$tab/:}
    if [[ ${line%%$tab*} == *[.:=-] ]]; then
        open+=$entry
    else
        whole+=$entry
    fi
done
_describe -V value whole -- open -S ''"""


class _Fish(_Shell):
    source_template = """\
# brctl in fish: copy this to ~/.config/fish/completions/
# Made by `python docs/generate.py`.

function _brctl_complete
    set -l line (commandline -cp)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- (commandline -po)[1])
    set -l answer (env _BRCTL_COMPLETE=complete_fish _BRCTL_LINE="$line" $program 2>/dev/null </dev/null)
    if test "$answer" != :files
        string join \\n -- $answer
    else if set -l option (string match -r -- '^--[^=]*=' $word)
        string join \\n -- $option(__fish_complete_path (string replace -- $option '' $word))
    else
        __fish_complete_path $word
    end
end

complete -c brctl -c br-node-manager -c br-monitor -f -a '(_brctl_complete)'"""


SHELLS: dict[str, type[_Shell]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def _split(line: str, closing: Sequence[str] = ("", "'", '"')) -> Sequence[str]:
    """The words of a line up to the cursor. The last may be empty or its quotes open: `x` stands for the cursor."""
    try:
        *words, last = shlex.split(f"{line}x{closing[0]}")
    except ValueError:
        return _split(line, closing[1:])
    return [*words, last[:-1]]
