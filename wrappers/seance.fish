# Séance Tools for fish: codebuff, freebuff, pool and claude, started at the prompt, show in the sidebar, and so
# does what the shell itself is doing.
#
# Source this from ~/.config/fish/config.fish: `seance-ctl shell-init fish --install` adds the line. It defines
# functions and prints nothing. `command codebuff` goes past it. Where Séance Tools is not on PATH, the programs
# beside this file are used: the .venv/bin of a checkout, or the bin of the prefix it is installed below. Without
# them the agent runs as always. A function of your own with such a name stays: source this before it, or let it call codebuff-wrapper.

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

# Run PROGRAM if it can be found, else the command NAME itself. (Where agents run, a local variable with the name of
# an exported one would hide that from them.)
function __seance_run --argument-names __seance_name __seance_program
    if set -l __seance_found (__seance_find $__seance_program)
        set -lx SEANCE_COMMAND $__seance_name
        test "$__seance_found" = (command -s $__seance_program; or echo)
        and set __seance_found $__seance_program
        eval command (string escape -- $__seance_found) '$argv[3..]' # so that the list of jobs tells what it is
    else
        command $__seance_name $argv[3..]
    end
end

# Whether NAME may be made a function: at a prompt, where nobody else has one of that name.
function __seance_may_define --argument-names name
    status is-interactive; or return
    not functions -q $name; or functions $name | string match -q '*__seance_*'
end

# At a prompt, make NAME a function that runs PROGRAM.
function __seance_wrap --argument-names __seance_name __seance_program
    __seance_may_define $__seance_name; or return 0
    function $__seance_name --wraps $__seance_name -V __seance_name -V __seance_program
        __seance_run $__seance_name $__seance_program $argv
    end
end

# Run the command NAME with the hooks in FILE, by OPTION. Without them where an option is OPTION or one of WORDS,
# which are for no session, or the first word is one of those, or we are not there. After -p comes a prompt,
# whatever its words are.
function __seance_launch --argument-names __seance_name __seance_option __seance_file __seance_words
    set -l __seance_given $__seance_option $__seance_hooks/$__seance_file
    test -f $__seance_given[2]; or set __seance_given
    set -l __seance_first y
    for __seance_argument in $argv[5..]
        if test "$__seance_argument" = --
            break
        else if contains -- "$__seance_argument" -p --print
            set __seance_first
        else if string match -q -- '-*' "$__seance_argument"
            set __seance_argument (string replace -r '(?s)=.*' '' -- $__seance_argument | string collect)
        else if set -q __seance_first[1]
            set __seance_first
        else
            continue
        end
        contains -- "$__seance_argument" $__seance_option (string split ' ' -- $__seance_words)
        and set __seance_given
    end
    set -l __seance_found
    set -q __seance_given[1]; and set __seance_found (__seance_find seance-hook); or set __seance_given
    begin
        set -l __seance_directory (string replace -r '/[^/]*$' '' -- $__seance_found[-1])
        set -q __seance_given[1]; and not contains -- $__seance_directory $PATH
        and set -lx PATH $PATH $__seance_directory
        command $__seance_name $__seance_given $argv[5..]
    end
end

# At a prompt, make NAME a function that runs it so.
function __seance_hook --argument-names __seance_name __seance_option __seance_file __seance_words
    __seance_may_define $__seance_name; or return 0
    function $__seance_name --wraps $__seance_name -V __seance_name -V __seance_option -V __seance_file -V __seance_words
        __seance_launch $__seance_name $__seance_option $__seance_file $__seance_words $argv
    end
end

# --- begin generated: agents
__seance_wrap codebuff codebuff-wrapper
__seance_wrap cb codebuff-wrapper
__seance_wrap freebuff freebuff-wrapper
__seance_wrap pool pool-wrapper
__seance_hook claude --settings claude.json '--version -v --help -h mcp config doctor update upgrade install plugin plugins agents auth setup-token migrate-installer remote-control'
# --- end generated

for __seance_name in seance seance-ctl seance-sidebar
    type -fq $__seance_name; or not __seance_find $__seance_name >/dev/null
    or __seance_wrap $__seance_name $__seance_name
end
set -e __seance_name

# The rest tells the broker what the prompt knows: the directory, whether something runs, how the last command
# ended and how long it took. Each time that is one file in the spool, written by builtins; where there is no
# spool, nothing. SEANCE_SHELL_REPORTS=0 leaves it out.

# Add a variable that tells the pane to the header of every report.
function __seance_place --argument-names header variable
    set -q $variable; and test -n "$$variable"; and not string match -qr '[[:cntrl:]]' -- $$variable
    and set -ga __seance_header "$header: $$variable"
end

# Set what is the same in all reports of this shell.
function __seance_identify
    set -g __seance_header 'Method: surface.report_shell'
    set -g __seance_session ''
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
    set -g __seance_born 0
    read -lz stat </proc/$fish_pid/stat; or return 0
    # After the name in parentheses, proc(5): the third field, the session, the terminal, and the start time.
    set -l fields (string replace -r '(?s)^.*\) ' '' -- $stat | string split ' ')
    set __seance_born $fields[20]
    if test $fields[5] != 0
        set -q TMUX; or set -a __seance_header "Tty: $fields[5] $fields[4]"
        set __seance_session ",\"tty_session\":$fields[4]"
    end
end

# Report the directory, and these members of a JSON object.
function __seance_report --argument-names members
    set -l spool "$SEANCE_SOCKET_PATH"
    switch $spool
        case ''
            string match -q '/*' -- $XDG_RUNTIME_DIR; and set spool $XDG_RUNTIME_DIR/seance/; or set spool $HOME/.seance/
        case '~/*'
            set spool $HOME(string sub -s 2 -- $spool)
        case '*/*'
        case '*'
            set spool ./$spool
    end
    set spool (string replace -r '[^/]*$' spool -- $spool)
    test -O "$spool"; or return 0
    set -l cwd $PWD
    if string match -qr '["\\\\[:cntrl:]]' -- $cwd
        set cwd (string replace -ra '["\\\\]' '\\\\$0' -- $cwd | string collect)
        set cwd (string replace -ra '[[:cntrl:]]' '\\\\ufffd' -- $cwd | string collect)
    end
    set -l header $__seance_header
    test -n "$SEANCE_WORKSPACE_ID"; and set -a header "Workspace: $SEANCE_WORKSPACE_ID"
    test -n "$SEANCE_SURFACE_ID"; and set -a header "Surface: $SEANCE_SURFACE_ID"
    # There are eight files: should nobody take them, the oldest is written anew. The broker takes their numbers
    # to go round at 1024.
    set -g __seance_number (math "($__seance_number + 128) % 1024")
    # fish itself says when it cannot open a file, whatever is done with the standard error, so only now.
    printf '%s\n' $header '' "{\"cwd\":\"$cwd\"$__seance_session$members}" >$spool/shell-$fish_pid-$__seance_born-$__seance_number
    and set -g __seance_told_of $PWD
end

if status is-interactive; and test "$SEANCE_SHELL_REPORTS" != 0
    set -g __seance_told_of
    set -q __seance_number; or set -g __seance_number 0
    __seance_identify 2>/dev/null

    # Before a line is run, report that something runs.
    function __seance_running --on-event fish_preexec
        set -g __seance_ran
        __seance_report ',"state":"running"'
    end

    # Once it has ended, report how and after how long; at the prompt, if the directory is another.
    function __seance_ended --on-event fish_postexec
        set -l ended $status
        set -q __seance_ran; or return # what came with this file
        set -e __seance_ran
        __seance_report ",\"state\":\"prompt\",\"exit_code\":$ended,\"duration_ms\":$CMD_DURATION"
    end
    function __seance_prompt --on-event fish_prompt
        test "$PWD" != "$__seance_told_of"; or return 0
        __seance_report ',"state":"prompt"'
    end
end

return $__seance_status
