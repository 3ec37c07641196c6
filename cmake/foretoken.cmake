# Compiler settings and the two helpers with which every folder declares itself.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

# Files of a target are compiled some at a time: most of the time of one alone goes into headers. Names of
# those files meet, also in unnamed namespaces (tools/check_names.py); a test whose names collide opens a
# namespace of its own (foretoken::<file>). Files with options or definitions of their own stay alone.
option(FORETOKEN_UNITY "Compile files of a target together" ON)
set(CMAKE_UNITY_BUILD ${FORETOKEN_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)  # of suites the usual 8: their names are short

set(FORETOKEN_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")
if(FORETOKEN_SANITIZE)
  add_compile_options(-fsanitize=${FORETOKEN_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FORETOKEN_SANITIZE})
  if(FORETOKEN_SANITIZE MATCHES "address")
    add_compile_definitions(FORETOKEN_SANITIZES_ADDRESSES)
  endif()
  if(FORETOKEN_SANITIZE MATCHES "thread")
    # Fences are beyond it; Asio's handlers are ordered by locks all the same.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# No path of this machine is in what is compiled: the same commit makes the same program in any folder.
# Of two maps that fit, GCC and clang take the last.
set(cargo_home $ENV{CARGO_HOME})
if(NOT cargo_home)
  set(cargo_home $ENV{HOME}/.cargo)
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
# Build folders share what cargo makes, so that its flags name none of them.
set(cargo_cflags "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${cargo_home}=cargo")
set(cargo_environment
  "RUSTFLAGS=--remap-path-prefix=${PROJECT_SOURCE_DIR}=. --remap-path-prefix=${cargo_home}=cargo")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

include(third_party)

# Build the tests that also run under sanitizers, and nothing else: of addresses and undefined
# behaviour; of threads.
add_custom_target(small_tests)
add_custom_target(tsan_tests)

# Contraction off: a fused multiply-add is written where it is meant, because results are promised
# to the bit across instruction sets. Warnings end a build only where continuous integration asks for
# it: a compiler that nobody has tried may know new ones.
option(FORETOKEN_WERROR "Warnings end the build" OFF)
add_compile_options(-Wall -Wextra $<$<BOOL:${FORETOKEN_WERROR}>:-Werror> -ffp-contract=off)
# Elsewhere than on x86-64 a char may be without a sign.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-fsigned-char)
endif()
# GCC takes the file beside another one for a header of it.
add_compile_options($<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${FORETOKEN_UNITY}>>:-Wno-subobject-linkage>)
# Clang holds against us what libstdc++ 12 does inside of stable_sort.
add_compile_options($<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)

# foretoken_sources(<result> FOLDERS a b ... [EXCEPT x.cc ...]): the .cc files in those folders that are no tests, so that
# a new file needs no edit here. foretoken_tests(<result> FOLDERS a b ...): those that are.
function(foretoken_sources result)
  cmake_parse_arguments(ARG "" "" "FOLDERS;EXCEPT" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND /*.cc OUTPUT_VARIABLE patterns)
  file(GLOB found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  list(FILTER found EXCLUDE REGEX "_test\\.cc$")
  list(REMOVE_ITEM found ${ARG_EXCEPT})
  set(${result} ${found} PARENT_SCOPE)
endfunction()
function(foretoken_tests result)
  cmake_parse_arguments(ARG "" "" "FOLDERS;EXCEPT" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND /*_test.cc OUTPUT_VARIABLE patterns)
  file(GLOB found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  list(REMOVE_ITEM found ${ARG_EXCEPT})
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# What runs at start, for a request or for a word of an answer is optimised less: it is compiled sooner.
set(rare_code_options $<$<CONFIG:Release>:-O1>)

# foretoken_library(<folder> [RARE] SOURCES a.cc ... DEPS ft_base ...): the static library ft_<folder>. RARE: its code
# runs rarely.
function(foretoken_library folder)
  cmake_parse_arguments(ARG "RARE" "" "SOURCES;DEPS" ${ARGN})
  add_library(ft_${folder} STATIC ${ARG_SOURCES})
  if(ARG_RARE)
    target_compile_options(ft_${folder} PRIVATE ${rare_code_options})
  endif()
  target_include_directories(ft_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(ft_${folder} PUBLIC ${ARG_DEPS} Threads::Threads)
endfunction()

# foretoken_test(<name> SOURCES a_test.cc ... DEPS ft_x ... [LABELS small]): the executable <name>,
# registered with ctest as ONE test (start-up per case would dominate); label `small` = also run under
# the address and undefined-behaviour sanitizers, `threads` = also under the thread sanitizer.
# What is tested lies in libraries: the sources here are hardly optimised, and of the sanitizers only those
# of addresses and threads look at them, which takes a third of the time.
function(foretoken_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  if(FORETOKEN_SANITIZE)
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=undefined)
  else()
    target_compile_options(${name} PRIVATE -Og)
  endif()
  # Only for the files that ask, so that clones in different folders share what ccache holds.
  foreach(source ${ARG_SOURCES})
    file(STRINGS ${source} asks REGEX "FORETOKEN_(SOURCE_DIR|SHARED_DATA)")
    if(asks)
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS
        "FORETOKEN_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";FORETOKEN_SHARED_DATA=\"${PROJECT_SOURCE_DIR}/../shared/data\"")
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  if(small IN_LIST ARG_LABELS)
    add_dependencies(small_tests ${name})
  endif()
  if(threads IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
endfunction()
