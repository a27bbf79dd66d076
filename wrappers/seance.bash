# shellcheck shell=bash
# Séance Tools for bash: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar.
#
# Source this from ~/.bashrc. It defines functions, prints nothing and changes no options or traps.
# `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this file are used:
# the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent runs as
# always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

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
# __seance_text is how a person would write that.
function __seance_find {
    local -a directories
    local directory line plain=$1 IFS=:
    read -r -a directories <<<"${PATH-}"
    for directory in "${directories[@]}" "${__seance_beside[@]}"; do
        [[ -f $directory/$1 && -x $directory/$1 ]] || continue
        line=
        { IFS= read -r line <"$directory/$1"; } 2>/dev/null
        [[ $line == '#!'* ]] || line='#!/'
        line=${line#'#!'}
        line=${line# }
        if [[ ! -x ${line%% *} ]]; then
            plain=
            continue
        fi
        __seance_command=("$directory/$1")
        if [[ ${!PYTHON*} && $line == *python* && $line != *' '* ]]; then
            __seance_command=("$line" -E "$directory/$1") # they may be meant for another Python
            plain=
        fi
        [[ $plain && :${PATH-}: == *":$directory:"* ]] || printf -v plain '%q ' "${__seance_command[@]}"
        __seance_text=$plain
        return 0
    done
    return 1
}

# __seance_run NAME PROGRAM ARGUMENT…: run PROGRAM if it can be found, else the command NAME itself.
function __seance_run {
    local __seance_text
    local -a __seance_command
    if __seance_find "$2"; then
        local -x SEANCE_COMMAND=$1
        hash -d "$2" 2>/dev/null || : # it may have moved
        shift 2
        eval "$__seance_text \"\$@\"" # so that the list of jobs tells what it is
    else
        command "$1" "${@:3}"
    fi
}

# __seance_define NAME WORDS: at a prompt, make NAME a function that runs WORDS and its arguments.
# An alias of that name stays in front of it. Someone else's function stays. In posix mode a name with a hyphen
# is passed over: it cannot be a function's.
function __seance_define {
    [[ $- == *i* && (:$SHELLOPTS: != *:posix:* || $1 != *-*) ]] || return 0
    if declare -F "$1" >/dev/null && [[ $(declare -f "$1") != *__seance_* ]]; then
        return 0
    fi
    eval "function $1 { $2 \"\$@\"; }"
}

# __seance_wrap NAME PROGRAM: at a prompt, make NAME a function that runs PROGRAM.
function __seance_wrap {
    __seance_define "$1" "__seance_run $1 $2"
}

# __seance_launch NAME OPTION FILE WORDS ARGUMENT…: run the command NAME with the hooks in FILE, by OPTION.
# Without them where an argument is OPTION or one of WORDS, which are for no session, or we are not there.
function __seance_launch {
    local name=$1 option=$2 file=$__seance_hooks/$3 words=" $2 $4 " argument search=$PATH __seance_text
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
    __seance_define "$1" "__seance_launch $1 $2 $3 '$4'"
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
unset __seance_name __seance_directory __seance_command __seance_text

# The status before this file stays, but a shell that ends at the first failure must not end here.
[[ $- == *e* ]] || return "$__seance_status"
