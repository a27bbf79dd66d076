# shellcheck shell=bash
# Séance Tools for bash: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar, and so
# does what the shell itself is doing.
#
# Source this from ~/.bashrc: `seance-ctl shell-init bash --install` adds the line. It prints nothing and changes
# no options. `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this file
# are used: the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent
# runs as always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

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
# Without them where an option is OPTION or one of WORDS, which are for no session, or the first word is one of
# those, or we are not there. After -p comes a prompt, whatever its words are. (A local variable with the name of an
# exported one would be exported too.)
function __seance_launch {
    local __seance_name=$1 __seance_option=$2 __seance_file=$__seance_hooks/$3 __seance_words=" $2 $4 "
    local __seance_first=y __seance_argument __seance_search=${PATH-} __seance_text
    local -a __seance_command
    shift 4
    for __seance_argument; do
        case $__seance_argument in
            --) break ;;
            -p | --print) __seance_first= ;;
            -*) __seance_argument=${__seance_argument%%=*} ;;
            *)
                [[ $__seance_first ]] || continue
                __seance_first=
                ;;
        esac
        [[ $__seance_argument == *' '* || $__seance_words != *" $__seance_argument "* ]] || __seance_file=
    done
    if [[ -f $__seance_file ]] && __seance_find seance-hook; then
        type -P seance-hook >/dev/null || __seance_search+=:${__seance_command[0]%/*}
        PATH=$__seance_search command "$__seance_name" "$__seance_option" "$__seance_file" "$@"
    else
        command "$__seance_name" "$@"
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
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update upgrade install plugin plugins agents auth setup-token migrate-installer remote-control'
# --- end generated

for __seance_name in seance seance-ctl seance-sidebar; do
    type -P "$__seance_name" >/dev/null || ! __seance_find "$__seance_name" ||
        __seance_wrap "$__seance_name" "$__seance_name"
done
unset __seance_name __seance_directory __seance_command __seance_text

# The rest tells the broker what the prompt knows: the directory, whether something runs, how the last command
# ended and how long it took. Each time that is one file in the spool, written by builtins; where there is no
# spool, nothing. SEANCE_SHELL_REPORTS=0 leaves it out, and so does a bash older than 5.1.

# __seance_place HEADER VARIABLE: add a variable that tells the pane to the header of every report.
function __seance_place {
    [[ ! ${!2-} || ${!2} == *[[:cntrl:]]* ]] || __seance_header+="$1: ${!2}"$'\n'
}

# __seance_identify: set what is the same in all reports of this shell.
function __seance_identify {
    local stat
    local -a fields=()
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
    IFS= read -rd '' stat <"/proc/$$/stat" || :
    # After the name in parentheses, proc(5): the third field, the session, the terminal, and the start time.
    IFS=' ' read -ra fields <<<"${stat##*) }" || :
    if [[ ${fields[4]-0} != 0 ]]; then
        [[ ${TMUX-} ]] || __seance_header+="Tty: ${fields[4]} ${fields[3]}"$'\n'
        __seance_session=",\"tty_session\":${fields[3]}"
    fi
    __seance_born=${fields[19]-0}
} 2>/dev/null

# bash copies a function whenever it is called, so what is needed every time is kept apart from the rest.

# __seance_locate: set where the spool is, false if there is none, and how the JSON begins, with the directory.
function __seance_locate {
    local socket=${SEANCE_SOCKET_PATH-} cwd=$PWD
    case $socket in
        '')
            case ${XDG_RUNTIME_DIR-} in
                /*) socket=$XDG_RUNTIME_DIR/seance/ ;;
                *) socket=${HOME-}/.seance/ ;;
            esac
            ;;
        \~/*) socket=${HOME-}${socket#\~} ;;
        /*) ;;
        *) socket=$PWD/$socket ;;
    esac
    __seance_spool=${socket%/*}/spool __seance_told_of=''
    [[ -O $__seance_spool ]] || return 1
    if [[ $PWD == *[\"\\[:cntrl:]]* ]]; then
        cwd=${PWD//\\/\\\\}
        cwd=${cwd//\"/\\\"}
        cwd=${cwd//[[:cntrl:]]/\\ufffd}
    fi
    __seance_begin="{\"cwd\":\"$cwd\"$__seance_session" __seance_file=$__seance_spool/shell-$$-$__seance_born-
    __seance_told_of=$PWD
}

# __seance_arm: have PS0 tell when a line is run; where bash does not expand it, it would be printed.
function __seance_arm {
    local shown=${PS0-} ours=
    ! shopt -q promptvars || ours=$__seance_ps0
    shown=${shown/"$__seance_ps0"/}$ours
    [[ $shown == "${PS0-}" ]] || declare -g PS0="$shown" || :
}

# __seance_report: at the prompt, report if a command has ended, or the directory is another; with an argument, as
# before the first simple command of a line, that something runs. One function does both, since a call takes bash
# long. False where nobody has told that the line was run.
function __seance_report {
    __seance_ended=$?
    if (($#)); then
        __seance_told=1
        ((!BASH_SUBSHELL)) || return 0
        __seance_members=',"state":"running"'
    elif ((__seance_started)); then
        ((__seance_taken = (${EPOCHREALTIME/[^0-9]/} - __seance_started) / 1000, __seance_started = 0,
            __seance_taken > 0)) || __seance_taken=0 # or the clock was set
        __seance_members="$__seance_waits,\"exit_code\":$__seance_ended,\"duration_ms\":$__seance_taken"
        shopt -q promptvars || __seance_arm
    else
        __seance_arm
        [[ $PWD != "$__seance_told_of" ]] || return $((!__seance_told))
        __seance_members=$__seance_waits
    fi
    [[ $PWD == "$__seance_told_of" && -O $__seance_spool ]] || __seance_locate || return $((!__seance_told))
    # There are eight files: should nobody take them, the oldest is written anew. The broker takes their numbers
    # to go round at 1024.
    # shellcheck disable=SC2257 # a builtin keeps them
    \printf %s "$__seance_header${SEANCE_WORKSPACE_ID:+Workspace: $SEANCE_WORKSPACE_ID
}${SEANCE_SURFACE_ID:+Surface: $SEANCE_SURFACE_ID
}
$__seance_begin$__seance_members}" >|"$__seance_file$((__seance_number = (__seance_number + 128) % 1024))" ||
        __seance_told_of=''
    ((__seance_told))
} 2>&-

# __seance_precmd, __seance_running: the same for bash-preexec, whom a false one would disturb.
function __seance_precmd {
    __seance_report || :
}
function __seance_running {
    __seance_report _
}

# __seance_join: have both called by bash-preexec; false where it is not there.
function __seance_join {
    local IFS=' '
    [[ ${bash_preexec_imported-}${__bp_imported-} ]] || return 1
    [[ " ${preexec_functions[*]-} " == *' __seance_running '* ]] || preexec_functions+=(__seance_running)
    [[ " ${precmd_functions[*]-} " == *' __seance_precmd '* ]] || precmd_functions+=(__seance_precmd)
}

# __seance_listen: have __seance_report called by the DEBUG trap, behind what somebody else has there, or by
# bash-preexec. On descriptor 3 is what `trap -p` has printed, where the trap is visible. The other's trap is not
# called for what is ours; its status counts where extdebug is set, and its $? and $_ are what they were, and its
# LINENO, as no line is put before it.
# shellcheck disable=SC2016 # the trap expands it
function __seance_listen {
    if ((!__seance_asked)); then
        __seance_waits='' # their trap forbids to look at it, so nobody tells when a line is run
        return 0
    fi
    trap - DEBUG # it may be visible here too
    local found=
    __seance_told=1 __seance_asked=0
    IFS= read -rd '' -u 3 found || :
    set -- trap -- -
    [[ $found != *trap* ]] || eval "set -- ${found#$'\n'}"
    if [[ ${BLE_VERSION-} ]]; then # it has ways of its own
        PROMPT_COMMAND[8731]=__seance_precmd
    elif __seance_join; then
        PROMPT_COMMAND[8731]='' # bash is at it, so it cannot be unset
    elif [[ $3 == - || ! $3 ]]; then
        set -- trap -- '{ ((__seance_told)) || __seance_report "$_"; } 2>&-'
    elif [[ $3 != *__seance_told* ]]; then
        set -- trap -- "case \$BASH_COMMAND:\${FUNCNAME-} in __seance_* | *:__seance_*) ;; *) $3"'
;; esac
{ ((__seance_kept = $?, __seance_told)) || __seance_report "$_"; ! ((__seance_kept)); } 2>&-'
    fi
    trap -- "$3" DEBUG
}

# PS0 is expanded before each line that is run, and never for what runs at the prompt.
if [[ $- == *i* && ${SEANCE_SHELL_REPORTS-} != 0 ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    # shellcheck disable=SC2016 # bash expands it when it prints it
    __seance_ps0='${__seance_told:0:$((__seance_told = 0, __seance_started = ${EPOCHREALTIME/[^0-9]/}, 0))}'
    __seance_waits=',"state":"prompt"'
    [[ ! ${BLE_VERSION-} ]] || __seance_waits= # then nobody tells when it runs something
    __seance_told=0 __seance_started=0 __seance_kept=0 __seance_asked=0 __seance_told_of='' __seance_spool=''
    : "${__seance_number:=0}"
    __seance_identify
    # An element of its own: each gets the status of the command that has ended. Once __seance_report is true, it
    # is all that runs of it. A function does not see the DEBUG trap, so it is printed here, into the pipe of a
    # here-document: that needs no process. What their trap prints of this is not seen.
    # shellcheck disable=SC2016
    __seance_element='__seance_report || {
        trap -p DEBUG >|"/dev/fd/$((__seance_asked = 3))"
        __seance_listen
    } 3<<<"" >/dev/null 2>&1'
    __seance_join || declare -g "PROMPT_COMMAND[8731]=$__seance_element" 2>/dev/null || :
    unset __seance_element
fi

# The status before this file stays, but a shell that ends at the first failure must not end here.
[[ $- == *e* ]] || return "$__seance_status"
