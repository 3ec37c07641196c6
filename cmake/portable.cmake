# Third-party code of the portable program, from build/portable-parts: headers, static libraries, sources.
if(NOT CMAKE_SYSROOT)
  message(FATAL_ERROR "FORETOKEN_PORTABLE needs cmake/portable_toolchain.cmake: use the preset portable")
endif()

# portable_library(<target> LINKS a.a ... DEFINES X ...)
function(portable_library target)
  cmake_parse_arguments(ARG "" "" "LINKS;DEFINES" ${ARGN})
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${portable_parts}/include)
  target_link_libraries(${target} INTERFACE ${ARG_LINKS})
  target_compile_definitions(${target} INTERFACE ${ARG_DEFINES})
endfunction()

portable_library(fmt::fmt DEFINES FMT_HEADER_ONLY)
portable_library(spdlog::spdlog DEFINES FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL)
portable_library(Boost::json LINKS ${portable_parts}/lib/libboost_json.a ${portable_parts}/lib/libboost_container.a)
# The crate curl-sys compiles libcurl; it and libcrypto are parts of the Rust library.
portable_library(CURL::libcurl LINKS ft_text_rust DEFINES CURL_STATICLIB)
portable_library(OpenSSL::Crypto LINKS ft_text_rust)

file(GLOB_RECURSE prometheus ${portable_parts}/prometheus-cpp/core/src/*.cc)
add_library(portable_prometheus STATIC ${prometheus})
target_include_directories(portable_prometheus SYSTEM PUBLIC ${portable_parts}/include)
target_compile_options(portable_prometheus PRIVATE -w)
add_library(prometheus-cpp::core ALIAS portable_prometheus)
target_include_directories(portable_prometheus PRIVATE ${portable_parts}/prometheus-cpp/core/src)

set(VULKAN_HEADERS ${portable_parts}/include)

# What cargo is told: compile C against the older glibc, leave libcurl and libcrypto in.
string(PREPEND cargo_cflags "--sysroot=${CMAKE_SYSROOT} ")
list(APPEND cargo_environment
  CC=gcc LIBZ_SYS_STATIC=1 OPENSSL_STATIC=1 OPENSSL_NO_VENDOR=1
  OPENSSL_LIB_DIR=${portable_parts}/lib OPENSSL_INCLUDE_DIR=${portable_parts}/include)
