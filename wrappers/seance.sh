# shellcheck shell=sh
# Séance Tools for POSIX shells: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar.
#
# Source this from the file that ENV names. It defines functions, prints nothing and changes no options.
# `command codebuff` goes past it. The wrappers have to be on PATH; without them the agents run as always.
# A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

__seance_status=$?

# __seance_find PROGRAM: set __seance_found to its path on PATH, and __seance_python to its interpreter.
# False where it is not there, or its interpreter is gone, as after an upgrade of Python.
__seance_find() {
    __seance_rest=${PATH-}:
    while [ -n "$__seance_rest" ]; do
        __seance_found=${__seance_rest%%:*}/$1
        __seance_rest=${__seance_rest#*:}
        if [ -f "$__seance_found" ] && [ -x "$__seance_found" ]; then
            __seance_python=
            { IFS= read -r __seance_python <"$__seance_found"; } 2>/dev/null || :
            case $__seance_python in
                '#!'*) ;;
                *) __seance_python='#!/' ;;
            esac
            __seance_python=${__seance_python#??}
            __seance_python=${__seance_python# }
            [ -x "${__seance_python%% *}" ] && return 0
        fi
    done
    return 1
}

# __seance_run NAME WRAPPER ARGUMENT…: run WRAPPER if it can be found, else the command NAME itself.
__seance_run() {
    if __seance_find "$2"; then
        __seance_name=$1
        shift 2
        case $(export -p) in
            *" PYTHON"*) ;;
            *) __seance_python= ;;
        esac
        case $__seance_python in
            *' '*) ;;
            *python*) # PYTHONHOME and the like may be meant for another Python and would break this one
                set -- -E "$__seance_found" "$@"
                __seance_found=$__seance_python
                ;;
        esac
        SEANCE_COMMAND=$__seance_name "$__seance_found" "$@"
    else
        __seance_name=$1
        shift 2
        command "$__seance_name" "$@"
    fi
}

# __seance_define NAME WORDS: at a prompt, make NAME a function that runs WORDS and its arguments.
# An alias of that name stays in front of it, and someone else's function stays.
__seance_define() {
    case $- in
        *i*) ;;
        *) return 0 ;;
    esac
    __seance_alias=
    if alias "$1" >/dev/null 2>&1; then
        __seance_alias=$(alias "$1")
        unalias "$1"
    fi
    # Where no program can be, what has that name is a function or built in.
    case " ${__seance_ours-} " in
        *" $1 "*) eval "$1() { $2 \"\$@\"; }" ;;
        *)
            if ! PATH=/dev/null command -v "$1" >/dev/null 2>&1; then
                __seance_ours="${__seance_ours-} $1"
                eval "$1() { $2 \"\$@\"; }"
            fi
            ;;
    esac
    if [ -n "$__seance_alias" ]; then
        eval "alias ${__seance_alias#alias }"
    fi
}

# __seance_wrap NAME WRAPPER: at a prompt, make NAME a function that runs WRAPPER.
__seance_wrap() {
    __seance_define "$1" "__seance_run $1 $2"
}

# __seance_launch NAME OPTION FILE WORDS ARGUMENT…: run the command NAME with the hooks in FILE, by OPTION.
# Without them where an option is OPTION or one of WORDS, which are for no session, or the first word is one of
# those, or we are not there. After -p comes a prompt, whatever its words are.
__seance_launch() {
    __seance_name=$1
    __seance_option=$2
    __seance_file=
    if __seance_find seance-hook; then
        __seance_found=${__seance_found%/*}/..
        for __seance_rest in "$__seance_found/share/seance-tools" "$__seance_found" "$__seance_found/.."; do
            [ -z "$__seance_file" ] && [ -f "$__seance_rest/hooks/$3" ] && __seance_file=$__seance_rest/hooks/$3
        done
    fi
    __seance_words=" $2 $4 "
    shift 4
    __seance_first=y
    for __seance_rest in "$@"; do
        case $__seance_rest in
            --) break ;;
            -p | --print) __seance_first= ;;
            -*) __seance_rest=${__seance_rest%%=*} ;;
            *)
                [ -n "$__seance_first" ] || continue
                __seance_first=
                ;;
        esac
        case $__seance_rest in
            *' '*) continue ;;
        esac
        case $__seance_words in
            *" $__seance_rest "*) __seance_file= ;;
        esac
    done
    if [ -n "$__seance_file" ]; then
        command "$__seance_name" "$__seance_option" "$__seance_file" "$@"
    else
        command "$__seance_name" "$@"
    fi
}

# __seance_hook NAME OPTION FILE WORDS: at a prompt, make NAME a function that runs it so.
__seance_hook() {
    __seance_define "$1" "__seance_launch $1 $2 $3 '$4'"
}

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update upgrade install plugin plugins agents auth setup-token migrate-installer remote-control'
# --- end generated

# The status before this file stays, but a shell that ends at the first failure must not end here.
case $- in
    *e*) ;;
    *) return "$__seance_status" ;;
esac
