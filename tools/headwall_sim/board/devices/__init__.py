# Models of devices at the level of frames, registers and pins. They run in MicroPython, beside the program.
