# shellcheck shell=bash
# What the tests of the shells share; each sets SHELL_NAME.
# shellcheck disable=SC2016,SC2034,SC2154 # texts for other shells; variables of bats and of its tests

setup_shell() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    DIR=$BATS_TEST_TMPDIR
    STATUS='$?'
    case $SHELL_NAME in
        bash) SHELL_COMMAND="bash --noprofile --norc" FILE=seance.bash ;;
        zsh) SHELL_COMMAND="zsh -f" FILE=seance.zsh ;;
        dash) SHELL_COMMAND="dash" FILE=seance.sh ;;
        fish) SHELL_COMMAND="fish --no-config" FILE=seance.fish STATUS='$status' ;;
    esac
    SOURCE="source $ROOT/wrappers/$FILE"
    [ "$SHELL_NAME" != dash ] || SOURCE=". $ROOT/wrappers/$FILE"
    command -v "$SHELL_NAME" >/dev/null || need_not "$SHELL_NAME is not installed"
    export HOME=$DIR TERM=xterm-256color
    unset SEANCE_COMMAND SEANCE_WRAPPED ENV BASH_ENV ZDOTDIR XDG_CONFIG_HOME XDG_DATA_HOME
    unset "${!PYTHON@}"
    mkdir -p "$DIR/bin"
    PATH=$DIR/bin:/usr/bin:/bin
    program bin/codebuff 'echo "agent $# $*"; exit 9'
    program bin/codebuff-wrapper 'echo "wrapper $SEANCE_COMMAND $# $*"; exit 7'
}

need_not() {
    [ -z "${CI-}" ] || { echo "$1" >&2; return 1; }
    skip "$1"
}

# program PATH TEXT [INTERPRETER]: make an executable script below the test's directory.
program() {
    mkdir -p "$(dirname "$DIR/$1")"
    printf '#!%s\n%s\n' "${3-/bin/sh}" "$2" >"$DIR/$1"
    chmod +x "$DIR/$1"
}

# typed COMMANDS: run them in an interactive shell on a terminal of its own.
typed() {
    printf '%s\n' "$1" >"$DIR/commands"
    local dot=.
    [ "$SHELL_NAME" != fish ] || dot=source
    script -qec "$SHELL_COMMAND -i -c '$dot $DIR/commands'" /dev/null </dev/null 2>&1 | tr -d '\r'
}

# expect LINE…: the last `run` printed exactly these lines.
expect() {
    local expected
    expected=$(printf '%s\n' "$@")
    [ "$output" = "$expected" ] && return 0
    printf 'expected:\n%s\ngot:\n%s\n' "$expected" "$output"
    return 1
}

runs_the_wrapper() {
    run typed "$SOURCE
codebuff 'a b' '*' '' '\$HOME'; echo status $STATUS
cb x; echo status $STATUS
env | grep SEANCE; true"
    expect 'wrapper codebuff 4 a b *  $HOME' 'status 7' 'wrapper cb 1 x' 'status 7'
}

runs_the_wrapper_of_every_agent() {
    for name in freebuff pool; do
        program "bin/$name" 'echo "agent $*"; exit 9'
        program "bin/$name-wrapper" 'echo "${0##*/} $SEANCE_COMMAND $*"; exit 7'
    done
    run typed "$SOURCE
freebuff 'a b'; echo status $STATUS
pool x; echo status $STATUS
command pool x; echo status $STATUS"
    expect 'freebuff-wrapper freebuff a b' 'status 7' 'pool-wrapper pool x' 'status 7' 'agent x' 'status 9'
}

runs_the_agent_without_a_wrapper() {
    rm "$DIR/bin/codebuff-wrapper"
    run typed "$SOURCE
codebuff 'a b' '*'; echo status $STATUS"
    expect 'agent 2 a b *' 'status 9'
}

runs_the_agent_when_the_interpreter_is_gone() {
    program bin/codebuff-wrapper '' "$DIR/venv/bin/python"
    run typed "$SOURCE
codebuff x; echo status $STATUS"
    expect 'agent 1 x' 'status 9'
}

survives_what_breaks_python() {
    [ -x /usr/bin/python3 ] || need_not "no /usr/bin/python3"
    program bin/codebuff-wrapper 'import sys; import ast; print(sys.argv[1:], flush=True)' /usr/bin/python3
    mkdir "$DIR/broken"
    echo 'print("site"); raise SystemExit(3)' >"$DIR/broken/sitecustomize.py"
    echo 'raise RuntimeError("ast")' >"$DIR/broken/ast.py"
    for setting in PYTHONHOME=/nonexistent "PYTHONPATH=$DIR/broken" PYTHONVERBOSE=1 PYTHONINSPECT=1; do
        export "${setting?}"
        run typed "$SOURCE
codebuff 'a b' c"
        unset "${setting%%=*}"
        expect "['a b', 'c']"
    done
}

keeps_a_function_of_the_users() {
    local function='codebuff() { echo mine "$@"; }'
    [ "$SHELL_NAME" != fish ] || function='function codebuff; echo mine $argv; end'
    run typed "$function
$SOURCE
$SOURCE
codebuff x
cb x"
    expect 'mine x' 'wrapper cb 1 x'
    [ "$SHELL_NAME" != dash ] || return 0 # it cannot tell whose a function is
    run typed "$SOURCE
$function
$SOURCE
codebuff x"
    expect 'mine x'
}

# Variables of the user's with the names of ours.
leaves_the_environment_alone() {
    local names="name option file words first argument search found given directory program line plain directories"
    program bin/codebuff-wrapper 'env | grep -c "=of the user$"'
    program bin/claude 'env | grep -c "=of the user$"'
    program bin/seance-hook true
    for name in $names; do
        export "$name=of the user"
    done
    run typed "$SOURCE
codebuff
claude"
    expect 13 13
}

needs_no_path() {
    run typed "$SOURCE
set -u
unset PATH
claude x 2>&1 | /usr/bin/grep -c 'PATH'"
    expect 0 # but that there is no such program
}

# What is in the list of jobs when codebuff, and cb with its own name, are stopped.
is_told_in_the_list_of_jobs() {
    program bin/codebuff-wrapper 'echo "wrapper $SEANCE_COMMAND $*"; kill -STOP $$; echo "on $SEANCE_COMMAND"'
    local fg='fg %codebuff'
    [ "$SHELL_NAME" != fish ] || fg='fg'
    cat >"$DIR/commands" <<EOF
$SOURCE
cb 'a b'
jobs
$fg
echo done
exit
EOF
    run bash -c "script -qec '$SHELL_COMMAND -i' /dev/null <'$DIR/commands' 2>&1 | tr -d '\r'"
    [[ $output == *'wrapper cb a b'* ]]
    [[ $output =~ [Ss]topped.*codebuff-wrapper.*'on cb' ]]
}

command_goes_past_it() {
    run typed "$SOURCE
command codebuff x; echo status $STATUS"
    expect 'agent 1 x' 'status 9'
}

is_off_in_scripts() {
    # shellcheck disable=SC2086 # a command and its options
    run $SHELL_COMMAND -c "$SOURCE
codebuff x; echo status $STATUS"
    expect 'agent 1 x' 'status 9'
}

keeps_the_status_and_prints_nothing() {
    run typed "false
$SOURCE
echo status $STATUS
true
$SOURCE
echo status $STATUS"
    expect 'status 1' 'status 0'
}

# Everything a user may have set up, in a shell of the Bourne family.
keeps_the_surroundings() {
    run typed "state() { set +o; trap; alias; echo \"\$IFS\"; }
trap 'echo bye' EXIT
alias codebuff='codebuff --lite' ls='ls -l'
IFS=x
set -euC
state >$DIR/before
! true
$SOURCE
$SOURCE
state >$DIR/after
codebuff axb || echo status \$?"
    expect 'wrapper codebuff 2 --lite axb' 'status 7' 'bye'
    diff "$DIR/before" "$DIR/after"
}

starts_no_process_when_sourced() {
    command -v strace >/dev/null || need_not "strace is not installed"
    # shellcheck disable=SC2086 # a command and its options
    run strace -f -qq -e trace=clone,clone3,fork,vfork,execve -e signal=none -o "$DIR/trace" \
        $SHELL_COMMAND -i -c "$SOURCE; true"
    # Threads are not processes: fish has some.
    run grep -cE '^[0-9]+ +(execve|v?fork|clone3?\(.*SIGCHLD)' "$DIR/trace"
    expect 1
}

finds_the_programs_of_a_checkout() {
    mkdir -p "$DIR/a repo/wrappers" && cp "$ROOT/wrappers/$FILE" "$DIR/a repo/wrappers"
    rm "$DIR/bin/codebuff-wrapper"
    program "a repo/.venv/bin/codebuff-wrapper" 'echo "checkout $SEANCE_COMMAND $*"; exit 7'
    program "a repo/.venv/bin/seance-ctl" 'echo "ctl $*"; exit 3'
    program "a repo/bin/seance" 'echo "seance $*"; exit 4'
    run typed "cd '$DIR/a repo'
source wrappers/$FILE
cd /
codebuff x; echo status $STATUS
seance-ctl 'a b'; echo status $STATUS
seance ctl; echo status $STATUS"
    expect 'checkout codebuff x' 'status 7' 'ctl a b' 'status 3' 'seance ctl' 'status 4'
}

finds_the_programs_of_its_prefix() {
    local wrappers="$DIR/prefix/share/seance-tools/wrappers"
    mkdir -p "$wrappers" && cp "$ROOT/wrappers/$FILE" "$wrappers"
    rm "$DIR/bin/codebuff-wrapper"
    program prefix/bin/codebuff-wrapper 'echo "prefix $*"'
    program prefix/share/seance-tools/bin/codebuff-wrapper 'echo "wrong $*"'
    run typed "source $wrappers/$FILE
codebuff x"
    expect 'prefix x'
}

leaves_programs_on_path_alone() {
    program bin/seance-ctl 'echo "path $*"'
    mkdir -p "$DIR/repo/wrappers" && cp "$ROOT/wrappers/$FILE" "$DIR/repo/wrappers"
    program repo/.venv/bin/seance-ctl 'echo "checkout $*"'
    program repo/.venv/bin/codebuff-wrapper 'echo "checkout $*"'
    run typed "source $DIR/repo/wrappers/$FILE
type seance-ctl
seance-ctl x
codebuff x"
    [[ ${lines[0]} == *"$DIR/bin/seance-ctl" ]]
    [ "${lines[1]}" = 'path x' ]
    [ "${lines[2]}" = 'wrapper codebuff 1 x' ]
}
