0 graph --list-passes
