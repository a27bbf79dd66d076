#!/bin/sh
# shellcheck disable=SC2093,SC2317
# Binds a key of tmux that opens and closes the sidebar, as a pane at the left of the window.
#
# In tmux.conf, either of these, or as a plugin:
#   run-shell /path/to/seance.tmux
#   source-file /path/to/seance.tmux
#
# Options, to be set before:
#   set -g @seance-key S                the key, after the prefix
#   set -g @seance-table prefix         its key table: root needs no prefix
#   set -g @seance-width 36             columns, or a part of the window as in 20%
#   set -g @seance-every-window off     on: the key opens and closes it in all windows, new ones too
#
# sh ends with the next line; to tmux it is the rest of this comment. \
exec sh "${0%/*}/seance-tmux" bind
run-shell "sh #{q;d:current_file}/seance-tmux bind"
