graph --list-passes
