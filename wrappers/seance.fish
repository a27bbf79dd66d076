# Séance Tools for fish: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar.
#
# Source this from ~/.config/fish/config.fish. It defines functions and prints nothing.
# `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs beside this file are used:
# the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without them the agent runs as
# always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

set -g __seance_status $status

# Where to look besides PATH.
set -g __seance_beside (string replace -r '(^|/)[^/]*$' '' -- (status filename))
string match -q '/*' -- $__seance_beside; or set __seance_beside $PWD/$__seance_beside
set -g __seance_hooks $__seance_beside/../hooks
if string match -q '*/share/seance-tools/wrappers' -- $__seance_beside
    set __seance_beside (string replace -r 'share/seance-tools/wrappers$' bin -- $__seance_beside)
else
    set __seance_beside $__seance_beside/../.venv/bin $__seance_beside/../bin
end

# Print what runs a program, on PATH or beside this file, one word a line.
# False where it is not there, or its interpreter is gone, as after an upgrade of Python.
function __seance_find --argument-names program
    for directory in $PATH $__seance_beside
        test -f $directory/$program -a -x $directory/$program; or continue
        set -l line
        read line <$directory/$program 2>/dev/null
        set -l interpreter (string replace -rf '^#! ?' '' -- $line); or set interpreter /
        test -x (string split -m 1 ' ' -- $interpreter)[1]; or continue
        # PYTHONHOME and the like may be meant for another Python and would break this one.
        set --names -x | string match -q 'PYTHON*'; and string match -q '*python*' -- $interpreter
        and not string match -q '* *' -- $interpreter
        and printf '%s\n' $interpreter -E
        printf '%s\n' $directory/$program
        return 0
    end
    return 1
end

# Run PROGRAM if it can be found, else the command NAME itself.
function __seance_run --argument-names name program
    if set -l found (__seance_find $program)
        set -lx SEANCE_COMMAND $name
        test "$found" = (command -s $program; or echo); and set found $program
        eval command (string escape -- $found) '$argv[3..]' # so that the list of jobs tells what it is
    else
        command $name $argv[3..]
    end
end

# Whether NAME may be made a function: at a prompt, where nobody else has one of that name.
function __seance_may_define --argument-names name
    status is-interactive; or return
    not functions -q $name; or functions $name | string match -q '*__seance_*'
end

# At a prompt, make NAME a function that runs PROGRAM.
function __seance_wrap --argument-names name program
    __seance_may_define $name; or return 0
    function $name --wraps $name --inherit-variable name --inherit-variable program
        __seance_run $name $program $argv
    end
end

# Run the command NAME with the hooks in FILE, by OPTION. Without them where an argument is OPTION or one of
# WORDS, which are for no session, or we are not there.
function __seance_launch --argument-names name option file words
    set -l given $option $__seance_hooks/$file
    test -f $given[2]; or set given
    for argument in $argv[5..]
        contains -- (string replace -r '(?s)=.*' '' -- $argument | string collect) $option (string split ' ' -- $words)
        and set given
    end
    set -l found
    set -q given[1]; and set found (__seance_find seance-hook); or set given
    begin
        set -l directory (string replace -r '/[^/]*$' '' -- $found[-1])
        set -q given[1]; and not contains -- $directory $PATH; and set -lx PATH $PATH $directory
        command $name $given $argv[5..]
    end
end

# At a prompt, make NAME a function that runs it so.
function __seance_hook --argument-names name option file words
    __seance_may_define $name; or return 0
    function $name --wraps $name --inherit-variable name --inherit-variable option --inherit-variable file \
        --inherit-variable words
        __seance_launch $name $option $file $words $argv
    end
end

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update install plugin agents setup-token auth'
# --- end generated

for __seance_name in seance seance-ctl seance-sidebar
    type -fq $__seance_name; or not __seance_find $__seance_name >/dev/null
    or __seance_wrap $__seance_name $__seance_name
end
set -e __seance_name

return $__seance_status
