"""The program that compiles kernels: the command line starts it, and so does a worker that lacks some."""

COMPILE = "import sys; from workers.engine.compiling import main; main(sys.argv[1:])"
