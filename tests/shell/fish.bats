#!/usr/bin/env bats
# wrappers/seance.fish in fish.

setup() {
    # shellcheck disable=SC2034 # for setup_shell
    SHELL_NAME=fish
    load common
    setup_shell
}

@test "runs the wrapper" { runs_the_wrapper; }
@test "runs the wrapper of every agent" { runs_the_wrapper_of_every_agent; }
@test "runs the agent without a wrapper" { runs_the_agent_without_a_wrapper; }
@test "runs the agent when the interpreter is gone" { runs_the_agent_when_the_interpreter_is_gone; }
@test "survives what breaks python" { survives_what_breaks_python; }
@test "keeps a function of the user's" { keeps_a_function_of_the_users; }
@test "command goes past it" { command_goes_past_it; }
@test "is off in scripts" { is_off_in_scripts; }
@test "keeps the status and prints nothing" { keeps_the_status_and_prints_nothing; }
@test "leaves the environment alone" { leaves_the_environment_alone; }
@test "starts no process when sourced" { starts_no_process_when_sourced; }
@test "finds the programs of a checkout" { finds_the_programs_of_a_checkout; }
@test "finds the programs of its prefix" { finds_the_programs_of_its_prefix; }
@test "leaves programs on path alone" { leaves_programs_on_path_alone; }
@test "is told in the list of jobs" { is_told_in_the_list_of_jobs; }
