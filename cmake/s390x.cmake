# Toolchain of the preset s390x: Debian's gcc-s390x-linux-gnu.
set(PELT_MACHINE s390x)
include(${CMAKE_CURRENT_LIST_DIR}/qemu.cmake)
