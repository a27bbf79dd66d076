# Séance Tools for zsh: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar, and so
# does what the shell itself is doing.
#
# Source this from ~/.zshrc: `seance-ctl shell-init zsh --install` adds the line. It prints nothing and changes no
# options or traps. `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this
# file are used: the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent
# runs as always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

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

# __seance_define NAME TEXT: make NAME a function of that TEXT that a DEBUG trap and xtrace see only from outside: the
# first thing it does is to put the trap away, of which it tells afterwards, and by then it is away.
function __seance_define {
    emulate zsh -o local_traps -o no_debug_before_cmd -o no_xtrace -c "function $1 {
        local __seance_status=\$? && trap - DEBUG
        $2
    }"
}

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

# __seance_offer NAME TEXT: at a prompt, make NAME a function of that TEXT.
# An alias of that name stays in front of it, and someone else's function stays.
function __seance_offer {
    emulate -L zsh
    [[ -o interactive ]] || return 0
    (( ! $+functions[$1] )) || [[ ${functions[$1]} == *__seance_* ]] || return 0
    __seance_define "$1" "$2"
}

# __seance_wrap NAME PROGRAM: at a prompt, make NAME a function that runs PROGRAM.
function __seance_wrap {
    __seance_offer "$1" "__seance_run $1 $2 \"\$@\""
}

# __seance_prepare OPTION FILE WORDS ARGUMENT…: set __seance_given to OPTION and the FILE with our hooks, and
# __seance_search to a PATH that has seance-hook. Nothing is given where an option is OPTION or one of WORDS, which
# are for no session, or the first word is one of those, or we are not there. After -p comes a prompt, whatever its
# words are.
typeset -ga __seance_given
typeset -g __seance_search
function __seance_prepare {
    emulate -L zsh
    local argument first=y
    local -a words=($1 ${=3})
    __seance_given=($1 $__seance_hooks/$2)
    __seance_search=${PATH-}
    for argument in "${@:4}"; do
        case $argument in
            --) break ;;
            -p | --print) first= ;;
            -*) argument=${argument%%=*} ;;
            *)
                [[ -n $first ]] || continue
                first=
                ;;
        esac
        (( ! ${words[(Ie)$argument]} )) || __seance_given=()
    done
    if [[ -f ${__seance_given[2]} ]] && __seance_find seance-hook; then
        whence -p seance-hook >/dev/null || __seance_search+=:${__seance_command[1]:h}
    else
        __seance_given=()
    fi
}

# __seance_hook NAME OPTION FILE WORDS: at a prompt, make NAME a function that runs it with our hooks.
function __seance_hook {
    __seance_offer "$1" "__seance_prepare $2 $3 '$4' \"\$@\"
        PATH=\$__seance_search command $1 \"\${__seance_given[@]}\" \"\$@\""
}

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update upgrade install plugin plugins agents auth setup-token migrate-installer remote-control'
# --- end generated

() {
    emulate -L zsh
    local name
    for name in seance seance-ctl seance-sidebar; do
        whence -p $name >/dev/null || ! __seance_find $name || __seance_wrap $name $name
    done
}

# The rest tells the broker what the prompt knows: the directory, whether something runs, how the last command
# ended and how long it took. Each time that is one file in the spool, written by builtins; where there is no
# spool, nothing. SEANCE_SHELL_REPORTS=0 leaves it out.

# __seance_place HEADER VARIABLE: add a variable that tells the pane to the header of every report.
function __seance_place {
    [[ -z ${(P)2-} || ${(P)2} == *[[:cntrl:]]* ]] || __seance_header+="$1: ${(P)2}"$'\n'
}

# __seance_identify: set what is the same in all reports of this shell.
typeset -g __seance_header __seance_session __seance_born
function __seance_identify {
    emulate -L zsh
    local stat
    local -a fields
    __seance_header=$'Method: surface.report_shell\n' __seance_session=
    # --- begin generated: shell-places
    __seance_place Host SEANCE_HOST
    __seance_place Tmux TMUX
    __seance_place Pane TMUX_PANE
    __seance_place Kitty KITTY_LISTEN_ON
    __seance_place Kitty-Window KITTY_WINDOW_ID
    __seance_place Wezterm WEZTERM_UNIX_SOCKET
    __seance_place Wezterm-Pane WEZTERM_PANE
    __seance_place Zellij ZELLIJ_SESSION_NAME
    __seance_place Zellij-Pane ZELLIJ_PANE_ID
    __seance_place Screen STY
    __seance_place Screen-Window WINDOW
    # --- end generated
    IFS= read -rd '' stat </proc/$$/stat || :
    # After the name in parentheses, proc(5): the third field, the session, the terminal, and the start time.
    fields=(${=stat##*\) })
    if (( ${fields[5]:-0} )); then
        [[ -n ${TMUX-} ]] || __seance_header+="Tty: $fields[5] $fields[4]"$'\n'
        __seance_session=",\"tty_session\":$fields[4]"
    fi
    __seance_born=${fields[20]:-0}
} 2>/dev/null

# __seance_locate: set where the spool is, false if there is none, and the directory as it is written in JSON.
typeset -g __seance_told_of= __seance_spool= __seance_cwd
function __seance_locate {
    local socket=${SEANCE_SOCKET_PATH-}
    case $socket in
        ('')
            case ${XDG_RUNTIME_DIR-} in
                (/*) socket=$XDG_RUNTIME_DIR/seance/ ;;
                (*) socket=${HOME-}/.seance/ ;;
            esac
            ;;
        (\~/*) socket=${HOME-}${socket#\~} ;;
        (/*) ;;
        (*) socket=$PWD/$socket ;;
    esac
    __seance_spool=${socket%/*}/spool __seance_told_of= __seance_cwd=$PWD
    [[ -O $__seance_spool ]] || return 1
    if [[ $PWD == *[\"\\[:cntrl:]]* ]]; then
        __seance_cwd=${${PWD//\\/\\\\}//\"/\\\"}
        __seance_cwd=${__seance_cwd//[[:cntrl:]]/\\ufffd}
    fi
    __seance_told_of=$PWD
}

# __seance_report: at the prompt, report if a command has ended, or the directory is another; with arguments, as
# before a line is run, that something runs. One function does both, since calling another takes zsh long.
typeset -gF __seance_started=0
typeset -gi __seance_number
function __seance_report {
    local members=',"state":"prompt"'
    local -i taken
    if (( $# )); then
        members=',"state":"running"'
        __seance_started=$EPOCHREALTIME
    elif (( __seance_started )); then
        (( taken = (EPOCHREALTIME - __seance_started) * 1000, __seance_started = 0, taken > 0 )) || taken=0
        members+=",\"exit_code\":$__seance_status,\"duration_ms\":$taken"
    elif [[ $PWD == $__seance_told_of ]]; then
        return 0
    fi
    [[ $PWD == $__seance_told_of && -O $__seance_spool ]] || __seance_locate || return 0
    # There are eight files: should nobody take them, the oldest is written anew. The broker takes their numbers
    # to go round at 1024. Of a function that is a hook, zsh would leave out the redirections.
    {
        print -rn -- "$__seance_header${SEANCE_WORKSPACE_ID:+Workspace: $SEANCE_WORKSPACE_ID
}${SEANCE_SURFACE_ID:+Surface: $SEANCE_SURFACE_ID
}"$'\n{"cwd":"'"$__seance_cwd\"$__seance_session$members}" \
            >|$__seance_spool/shell-$$-$__seance_born-$(( __seance_number = (__seance_number + 128) % 1024 ))
    } 2>/dev/null || __seance_told_of=
}

typeset -ga precmd_functions preexec_functions
() {
    emulate -L zsh
    [[ -o interactive && ${SEANCE_SHELL_REPORTS-} != 0 ]] || return 0
    zmodload -F zsh/datetime p:EPOCHREALTIME 2>/dev/null || return 0
    __seance_identify
    __seance_define __seance_report "$functions[__seance_report]"
    # First at the prompt, so that what others do there is no part of the time.
    precmd_functions=(__seance_report ${precmd_functions:#__seance_report})
    preexec_functions=(${preexec_functions:#__seance_report} __seance_report)
}

# The status before this file stays, but a shell that ends at the first failure must not end here.
[[ -o err_exit || -o err_return ]] || return $__seance_status
