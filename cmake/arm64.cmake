# Toolchain of the preset arm64: Debian's gcc-aarch64-linux-gnu.
set(PELT_MACHINE aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/qemu.cmake)
