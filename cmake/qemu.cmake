# The part that toolchains of Debian's cross compilers have in common. They set PELT_MACHINE, the name of the machine in those of GNU and qemu.
# Programs run under qemu-user with the libraries of the cross compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PELT_MACHINE})
set(CMAKE_C_COMPILER ${PELT_MACHINE}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${PELT_MACHINE}-linux-gnu-g++)
# LD_LIBRARY_PATH: else a libc of the system for that machine would come before that of the cross compiler, whose loader it does not fit;
# programs would then hang when they start a thread.
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-${PELT_MACHINE}-static -L /usr/${PELT_MACHINE}-linux-gnu -E LD_LIBRARY_PATH=/usr/${PELT_MACHINE}-linux-gnu/lib)
set(CMAKE_FIND_ROOT_PATH /usr/${PELT_MACHINE}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
