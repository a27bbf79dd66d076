# Séance Tools for zsh: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar.
#
# Source this from ~/.zshrc. It defines functions, prints nothing and changes no options or traps.
# `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this file are used:
# the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent runs as
# always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

typeset -g __seance_status=$?

# Where to look besides PATH.
typeset -ga __seance_beside
typeset -g __seance_hooks
() {
    emulate -L zsh
    __seance_hooks=$1/../hooks
    if [[ $1 == */share/seance-tools/wrappers ]]; then
        __seance_beside=(${1%/share/seance-tools/wrappers}/bin)
    else
        __seance_beside=($1/../.venv/bin $1/../bin)
    fi
} "${${(%):-%x}:A:h}"

# __seance_find PROGRAM: set __seance_command to what runs it, on PATH or beside this file.
# False where it is not there, or its interpreter is gone, as after an upgrade of Python.
typeset -ga __seance_command
function __seance_find {
    emulate -L zsh
    local directory line
    for directory in $path $__seance_beside; do
        [[ -f $directory/$1 && -x $directory/$1 ]] || continue
        line=
        { IFS= read -r line <$directory/$1; } 2>/dev/null
        [[ $line == '#!'* ]] || line='#!/'
        line=${${line#'#!'}# }
        [[ -x ${line%% *} ]] || continue
        __seance_command=($directory/$1)
        if [[ -n ${(M)${(k)parameters}:#PYTHON*} && $line == *python* && $line != *' '* ]]; then
            __seance_command=($line -E $directory/$1) # they may be meant for another Python
        fi
        return 0
    done
    return 1
}

# __seance_run NAME PROGRAM ARGUMENT…: run PROGRAM if it can be found, else the command NAME itself.
function __seance_run {
    if __seance_find "$2"; then
        SEANCE_COMMAND=$1 "${__seance_command[@]}" "${@:3}"
    else
        command "$1" "${@:3}"
    fi
}

# __seance_define NAME TEXT: at a prompt, make NAME a function of that TEXT.
# An alias of that name stays in front of it, and someone else's function stays.
function __seance_define {
    emulate -L zsh
    [[ -o interactive ]] || return 0
    (( ! $+functions[$1] )) || [[ ${functions[$1]} == *__seance_* ]] || return 0
    eval "function $1 { $2; }"
}

# __seance_wrap NAME PROGRAM: at a prompt, make NAME a function that runs PROGRAM.
function __seance_wrap {
    __seance_define "$1" "__seance_run $1 $2 \"\$@\""
}

# __seance_prepare OPTION FILE WORDS ARGUMENT…: set __seance_given to OPTION and the FILE with our hooks, and
# __seance_search to a PATH that has seance-hook. Nothing is given where an argument is OPTION or one of WORDS,
# which are for no session, or we are not there.
typeset -ga __seance_given
typeset -g __seance_search
function __seance_prepare {
    emulate -L zsh
    local argument
    local -a words=($1 ${=3})
    __seance_given=($1 $__seance_hooks/$2)
    __seance_search=$PATH
    for argument in "${@:4}"; do
        (( ! ${words[(Ie)${argument%%=*}]} )) || __seance_given=()
    done
    if [[ -f ${__seance_given[2]} ]] && __seance_find seance-hook; then
        whence -p seance-hook >/dev/null || __seance_search+=:${__seance_command[1]:h}
    else
        __seance_given=()
    fi
}

# __seance_hook NAME OPTION FILE WORDS: at a prompt, make NAME a function that runs it with our hooks.
function __seance_hook {
    __seance_define "$1" "__seance_prepare $2 $3 '$4' \"\$@\"
        PATH=\$__seance_search command $1 \"\${__seance_given[@]}\" \"\$@\""
}

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update install plugin agents setup-token auth'
# --- end generated

() {
    emulate -L zsh
    local name
    for name in seance seance-ctl seance-sidebar; do
        whence -p $name >/dev/null || ! __seance_find $name || __seance_wrap $name $name
    done
}

# The status before this file stays, but a shell that ends at the first failure must not end here.
[[ -o err_exit || -o err_return ]] || return $__seance_status
