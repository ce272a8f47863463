# The kernel side is compiled here, for every kernel (CO-RE), and lies inside the extension: nothing is compiled later.
find_program(CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
find_program(LLVM_STRIP NAMES llvm-strip llvm-strip-19 llvm-strip-18 llvm-strip-17 llvm-strip-16 llvm-strip-15 llvm-strip-14)
# Ubuntu's /usr/sbin/bpftool refuses to run under a kernel that it was not made for; the real one lies elsewhere.
file(GLOB BPFTOOL_FOLDERS /usr/lib/linux-tools/* /usr/lib/linux-tools-*)
find_program(BPFTOOL NAMES bpftool HINTS ${BPFTOOL_FOLDERS} /usr/sbin /sbin)
find_path(BPF_INCLUDE bpf/libbpf.h)
find_library(BPF_LIBRARY NAMES bpf) # Debian's static one is not position-independent
foreach(needed CLANG LLVM_STRIP BPFTOOL BPF_INCLUDE BPF_LIBRARY)
  if(NOT ${needed})
    message(FATAL_ERROR "The kernel tracer cannot be built: ${needed} was not found. Install: clang llvm bpftool libbpf-dev")
  endif()
endforeach()

if(MACHINE STREQUAL aarch64)
  set(TRACER_TARGET arm64)
else()
  set(TRACER_TARGET x86)
endif()
set(TRACER_BUILD "${CMAKE_CURRENT_BINARY_DIR}/tracer")
set(TRACER_OBJECT "${TRACER_BUILD}/tracer.bpf.o")
set(TRACER_SKELETON "${TRACER_BUILD}/tracer.skel.h")
file(MAKE_DIRECTORY "${TRACER_BUILD}")
file(GLOB TRACER_BPF_HEADERS CONFIGURE_DEPENDS native/tracer/bpf/*.h native/tracer/bpf/*/*.h)
add_custom_command(
  OUTPUT "${TRACER_SKELETON}"
  COMMAND "${CLANG}" -target bpf -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -D__TARGET_ARCH_${TRACER_TARGET}
    -I "${CMAKE_CURRENT_SOURCE_DIR}/native" -I "${CMAKE_CURRENT_SOURCE_DIR}/native/tracer"
    -isystem "${BPF_INCLUDE}" -isystem "/usr/include/${CMAKE_C_LIBRARY_ARCHITECTURE}"
    -c "${CMAKE_CURRENT_SOURCE_DIR}/native/tracer/bpf/tracer.bpf.c" -o "${TRACER_OBJECT}"
  COMMAND "${LLVM_STRIP}" -g "${TRACER_OBJECT}"
  COMMAND "${BPFTOOL}" gen skeleton "${TRACER_OBJECT}" name tracer_bpf > "${TRACER_SKELETON}"
  DEPENDS native/tracer/bpf/tracer.bpf.c ${TRACER_BPF_HEADERS} native/tracer/machine.h native/tracer/record.h native/tracer/shared.h
  VERBATIM)

add_extension(_tracer
  native/tracer/answers.c
  native/tracer/arguments.c
  native/tracer/clock.c
  native/tracer/counters.c
  native/tracer/extents.c
  native/tracer/maps.c
  native/tracer/module.c
  native/tracer/open.c
  native/tracer/pins.c
  native/tracer/processes.c
  native/tracer/programs.c
  native/tracer/rings.c
  native/tracer/rows.c
  native/tracer/serve.c
  native/tracer/tracer_type.c
  native/stacks/module_tuple.c
  native/stacks/process.c
  native/stacks/remote.c
  native/stacks/tables.c
  ${UNWIND_SOURCES}
  "${TRACER_SKELETON}")
target_include_directories(_tracer PRIVATE "${TRACER_BUILD}")
target_include_directories(_tracer SYSTEM PRIVATE "${BPF_INCLUDE}")
target_link_libraries(_tracer PRIVATE "${BPF_LIBRARY}")
install(TARGETS _tracer LIBRARY DESTINATION whyperf/collect)
