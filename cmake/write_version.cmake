# Writes the program's version, with the commit where the sources are a git checkout of their own.
# cmake -DSOURCE_DIR=... -DVERSION=... -DOUTPUT=... -P write_version.cmake
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --show-toplevel
                OUTPUT_VARIABLE checkout OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(REAL_PATH ${SOURCE_DIR} source_dir)
set(text ${VERSION})
if(checkout STREQUAL source_dir)
  execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --exclude=* --abbrev=12
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit)
    set(text "${VERSION} (${commit})")
  endif()
endif()
# Leaves a file that says so already as it is.
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "app/version.h"

namespace foretoken {

const char* version_text() { return "@text@"; }

}  // namespace foretoken
]])
