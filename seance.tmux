#!/bin/sh
# For tmux plugin managers, which run *.tmux of the repository's root.
exec "${0%/*}/wrappers/seance.tmux"
