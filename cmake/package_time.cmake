# Read by cpack: files in a package have the time of the commit, so that it holds none of the build.
# SOURCE_DATE_EPOCH, where set, is another one; without git it is 1980, the first year of all archives.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%ct
                  OUTPUT_VARIABLE time OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT time)
    set(time 315532800)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${time})
endif()
