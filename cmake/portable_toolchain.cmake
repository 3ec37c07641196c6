# The compiler of this machine, against the glibc of build/portable-parts (tools/portable_parts.py makes it).
set(portable_parts ${CMAKE_CURRENT_LIST_DIR}/../build/portable-parts)
get_filename_component(portable_parts ${portable_parts} ABSOLUTE)
set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_SYSROOT ${portable_parts}/sysroot)

# GCC looks beside itself before it looks into the sysroot.
set(libraries ${portable_parts}/sysroot/usr/lib/x86_64-linux-gnu)
string(CONCAT CMAKE_EXE_LINKER_FLAGS_INIT
  "-static-libstdc++ -static-libgcc -B${libraries} -L${portable_parts}/lib -L${libraries} "
  "-L${portable_parts}/sysroot/lib/x86_64-linux-gnu ${portable_parts}/lib/newer_glibc.o")
