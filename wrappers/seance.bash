# shellcheck shell=bash
# Séance Tools for bash: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar.
#
# Source this from ~/.bashrc. It defines functions, prints nothing and changes no options or traps.
# `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this file are used:
# the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent runs as
# always.

__seance_status=$?

# Where to look besides PATH.
__seance_directory=${BASH_SOURCE[0]%/*}
[[ ${BASH_SOURCE[0]} == */* ]] || __seance_directory=.
[[ $__seance_directory == /* ]] || __seance_directory=$PWD/$__seance_directory
__seance_beside=("$__seance_directory/../.venv/bin" "$__seance_directory/../bin")
if [[ $__seance_directory == */share/seance-tools/wrappers ]]; then
    __seance_beside=("${__seance_directory%/share/seance-tools/wrappers}/bin")
fi
__seance_hooks=$__seance_directory/../hooks

# __seance_find PROGRAM: set __seance_command to what runs it, on PATH or beside this file.
# False where it is not there, or its interpreter is gone, as after an upgrade of Python.
function __seance_find {
    local -a directories
    local directory line IFS=:
    read -r -a directories <<<"${PATH-}"
    for directory in "${directories[@]}" "${__seance_beside[@]}"; do
        [[ -f $directory/$1 && -x $directory/$1 ]] || continue
        line=
        { IFS= read -r line <"$directory/$1"; } 2>/dev/null
        [[ $line == '#!'* ]] || line='#!/'
        line=${line#'#!'}
        line=${line# }
        [[ -x ${line%% *} ]] || continue
        __seance_command=("$directory/$1")
        if [[ ${PYTHONHOME-} && $line == *python* && $line != *' '* ]]; then
            __seance_command=("$line" -E "$directory/$1") # it may be meant for another Python
        fi
        return 0
    done
    return 1
}

# __seance_run NAME PROGRAM ARGUMENT…: run PROGRAM if it can be found, else the command NAME itself.
function __seance_run {
    local name=$1 program=$2
    local -a __seance_command
    shift 2
    if __seance_find "$program"; then
        SEANCE_COMMAND=$name "${__seance_command[@]}" "$@"
    else
        command "$name" "$@"
    fi
}

# __seance_wrap NAME PROGRAM: at a prompt, make NAME a function that runs PROGRAM.
# An alias of that name stays in front of it.
function __seance_wrap {
    [[ $- != *i* ]] || eval "function $1 { __seance_run $1 $2 \"\$@\"; }"
}

# __seance_launch NAME OPTION FILE WORDS ARGUMENT…: run the command NAME with the hooks in FILE, by OPTION.
# Without them where an argument is OPTION or one of WORDS, which are for no session, or we are not there.
function __seance_launch {
    local name=$1 option=$2 file=$__seance_hooks/$3 words=" $2 $4 " argument search=$PATH
    local -a __seance_command
    shift 4
    for argument; do
        [[ $words != *" ${argument%%=*} "* ]] || file=
    done
    if [[ -f $file ]] && __seance_find seance-hook; then
        type -P seance-hook >/dev/null || search+=:${__seance_command[0]%/*}
        PATH=$search command "$name" "$option" "$file" "$@"
    else
        command "$name" "$@"
    fi
}

# __seance_hook NAME OPTION FILE WORDS: at a prompt, make NAME a function that runs it so.
function __seance_hook {
    [[ $- != *i* ]] || eval "function $1 { __seance_launch $1 $2 $3 '$4' \"\$@\"; }"
}

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update install plugin agents setup-token auth'
# --- end generated

for __seance_name in seance seance-ctl seance-sidebar; do
    type -P "$__seance_name" >/dev/null || ! __seance_find "$__seance_name" ||
        __seance_wrap "$__seance_name" "$__seance_name"
done
unset __seance_name __seance_directory __seance_command

# The status before this file stays, but a shell that ends at the first failure must not end here.
[[ $- == *e* ]] || return "$__seance_status"
