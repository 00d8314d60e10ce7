2 completion
2 completion ksh
