# The Valgrind tool, where Valgrind's libraries are installed. Everything else of whyperf is built without it; then
# `--deep` names the package that is missing.
# GPL-2.0-or-later, like Valgrind: see LICENSE beside this file.
if(MACHINE STREQUAL aarch64)
  set(VALGRIND_MACHINE arm64)
else()
  set(VALGRIND_MACHINE amd64)
endif()
find_path(VALGRIND_INCLUDE pub_tool_tooliface.h PATH_SUFFIXES valgrind)
find_library(VALGRIND_CORE libcoregrind-${VALGRIND_MACHINE}-linux.a PATH_SUFFIXES valgrind)
find_library(VALGRIND_VEX libvex-${VALGRIND_MACHINE}-linux.a PATH_SUFFIXES valgrind)
find_library(VALGRIND_SUPPLEMENT libgcc-sup-${VALGRIND_MACHINE}-linux.a PATH_SUFFIXES valgrind)

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
  # Files that know a machine end in its name.
  file(GLOB DEPENDENCES_SOURCES CONFIGURE_DEPENDS native/dependences/tool/*.c)
  list(FILTER DEPENDENCES_SOURCES EXCLUDE REGEX "_(amd64|arm64)\\.c$")
  list(APPEND DEPENDENCES_SOURCES native/dependences/tool/opcode_${VALGRIND_MACHINE}.c
    native/dependences/tool/registers_${VALGRIND_MACHINE}.c)
  set(DEPENDENCES_TOOL dependences-${VALGRIND_MACHINE}-linux)
  add_executable(${DEPENDENCES_TOOL} ${DEPENDENCES_SOURCES})
  target_include_directories(${DEPENDENCES_TOOL} SYSTEM PRIVATE ${VALGRIND_INCLUDE})
  target_compile_definitions(${DEPENDENCES_TOOL} PRIVATE VGA_${VALGRIND_MACHINE}=1 VGO_linux=1 VGP_${VALGRIND_MACHINE}_linux=1
    VGPV_${VALGRIND_MACHINE}_linux_vanilla=1)
  # A tool is a static program that runs without libc, below the addresses of the program that it carries.
  target_compile_options(${DEPENDENCES_TOOL} PRIVATE -fno-stack-protector -fno-strict-aliasing -fno-builtin
    -fno-pie -fomit-frame-pointer)
  target_link_options(${DEPENDENCES_TOOL} PRIVATE -static -nodefaultlibs -nostartfiles -no-pie -u _start
    -Wl,--build-id=none -Wl,-Ttext-segment=0x58000000)
  set(VALGRIND_LIBRARIES ${VALGRIND_CORE} ${VALGRIND_VEX})
  if(VALGRIND_SUPPLEMENT)
    # It stands in for what libgcc wants of a C library, so it comes after that as well.
    list(APPEND VALGRIND_LIBRARIES ${VALGRIND_SUPPLEMENT} gcc ${VALGRIND_SUPPLEMENT})
  endif()
  target_link_libraries(${DEPENDENCES_TOOL} PRIVATE ${VALGRIND_LIBRARIES} gcc)
  install(TARGETS ${DEPENDENCES_TOOL} RUNTIME DESTINATION whyperf/collect/valgrind)
  # VALGRIND_LIB names this folder, so it must hold what Valgrind looks for beside a tool.
  find_path(VALGRIND_LIBEXEC vgpreload_core-${VALGRIND_MACHINE}-linux.so
    PATHS /usr/libexec/valgrind /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/valgrind /usr/lib64/valgrind /usr/lib/valgrind REQUIRED)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/VERSION" "${VALGRIND_VERSION}\n")
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/VERSION" "${VALGRIND_LIBEXEC}/vgpreload_core-${VALGRIND_MACHINE}-linux.so"
    "${VALGRIND_LIBEXEC}/default.supp" native/dependences/tool/LICENSE DESTINATION whyperf/collect/valgrind)
endif()
