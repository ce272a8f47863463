# The Valgrind tool, where Valgrind's libraries are installed. Everything else of whyperf is built without it; then
# `--deep` names the package that is missing.
# GPL-2.0-or-later, like Valgrind: see LICENSE beside this file.
find_path(VALGRIND_INCLUDE pub_tool_tooliface.h PATH_SUFFIXES valgrind)
find_library(VALGRIND_CORE libcoregrind-amd64-linux.a PATH_SUFFIXES valgrind)
find_library(VALGRIND_VEX libvex-amd64-linux.a PATH_SUFFIXES valgrind)
find_library(VALGRIND_SUPPLEMENT libgcc-sup-amd64-linux.a PATH_SUFFIXES valgrind)

set(VALGRIND_OLDEST 3.19)
set(VALGRIND_VERSION "")
if(VALGRIND_INCLUDE AND EXISTS "${VALGRIND_INCLUDE}/config.h")
  file(STRINGS "${VALGRIND_INCLUDE}/config.h" line REGEX "^#define VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" VALGRIND_VERSION "${line}")
endif()

if(NOT VALGRIND_INCLUDE OR NOT VALGRIND_CORE OR NOT VALGRIND_VEX OR NOT VALGRIND_VERSION)
  message(STATUS "Valgrind's libraries are not installed: whyperf is built without --deep. Install: valgrind")
elseif(VALGRIND_VERSION VERSION_LESS VALGRIND_OLDEST)
  message(STATUS "Valgrind ${VALGRIND_VERSION} is older than ${VALGRIND_OLDEST}: whyperf is built without --deep.")
else()
  file(GLOB DEPENDENCES_SOURCES CONFIGURE_DEPENDS native/dependences/tool/*.c)
  add_executable(dependences-amd64-linux ${DEPENDENCES_SOURCES})
  target_include_directories(dependences-amd64-linux SYSTEM PRIVATE ${VALGRIND_INCLUDE})
  target_compile_definitions(dependences-amd64-linux PRIVATE VGA_amd64=1 VGO_linux=1 VGP_amd64_linux=1
    VGPV_amd64_linux_vanilla=1)
  # A tool is a static program that runs without libc, below the addresses of the program that it carries.
  target_compile_options(dependences-amd64-linux PRIVATE -fno-stack-protector -fno-strict-aliasing -fno-builtin
    -fno-pie -fomit-frame-pointer)
  target_link_options(dependences-amd64-linux PRIVATE -static -nodefaultlibs -nostartfiles -no-pie -u _start
    -Wl,--build-id=none -Wl,-Ttext-segment=0x58000000)
  set(VALGRIND_LIBRARIES ${VALGRIND_CORE} ${VALGRIND_VEX})
  if(VALGRIND_SUPPLEMENT)
    list(APPEND VALGRIND_LIBRARIES ${VALGRIND_SUPPLEMENT})
  endif()
  target_link_libraries(dependences-amd64-linux PRIVATE ${VALGRIND_LIBRARIES} gcc)
  install(TARGETS dependences-amd64-linux RUNTIME DESTINATION whyperf/collect/valgrind)
  # VALGRIND_LIB names this folder, so it must hold what Valgrind looks for beside a tool.
  find_path(VALGRIND_LIBEXEC vgpreload_core-amd64-linux.so
    PATHS /usr/libexec/valgrind /usr/lib/x86_64-linux-gnu/valgrind /usr/lib64/valgrind /usr/lib/valgrind REQUIRED)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/VERSION" "${VALGRIND_VERSION}\n")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/VERSION" "${VALGRIND_LIBEXEC}/vgpreload_core-amd64-linux.so"
    "${VALGRIND_LIBEXEC}/default.supp" native/dependences/tool/LICENSE DESTINATION whyperf/collect/valgrind)
endif()
