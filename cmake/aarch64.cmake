# The tool chain of the preset "aarch64": a cross compiler, libraries that tools/aarch64.sh unpacks into
# FORETOKEN_AARCH64_ROOT, and a processor in software for what is run while building and testing.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER ${triple}-gcc)
  set(CMAKE_CXX_COMPILER ${triple}-g++)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(FORETOKEN_RUST_TARGET aarch64-unknown-linux-gnu)

set(FORETOKEN_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64_root CACHE PATH "Libraries of aarch64")
file(REAL_PATH ${FORETOKEN_AARCH64_ROOT} root)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FORETOKEN_AARCH64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${root} /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Shared libraries of shared libraries.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${root}/usr/lib/${triple}")

find_program(FORETOKEN_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(FORETOKEN_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${FORETOKEN_QEMU} -L /usr/${triple})
endif()
