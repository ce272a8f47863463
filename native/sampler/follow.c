// Whether a program about to be started can carry the sampler: looked up in the file, before it is too late.
#include <elf.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "machine/machine.h"
#include "sampler/raw.h"
#include "sampler/sampler.h"

enum { SCRIPT_DEPTH = 4, INTERPRETER_BYTES = 256, SEGMENTS_MAX = 64 };

static int check(int fd, const char *name, int depth);

static int check_file(const char *path, int depth) {
    // Not to wait for a FIFO's writer, nor to take a terminal: whatever the path names.
    int fd = raw_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return errno == EACCES || errno == EPERM ? WHYPERF_UNFOLLOWED_UNREACHABLE : 0;
    int reason = check(fd, path, depth);
    raw_close(fd);
    return reason;
}

// "#! /path argument"
static int check_script(const char *line, int depth) {
    if (depth == 0)
        return 0;
    char interpreter[INTERPRETER_BYTES];
    size_t start = 2 + strspn(line + 2, " \t");
    size_t length = strcspn(line + start, " \t\n");
    if (length == 0 || length >= sizeof interpreter)
        return 0;
    memcpy(interpreter, line + start, length);
    interpreter[length] = '\0';
    return check_file(interpreter, depth - 1);
}

static bool gains_privileges(int fd) {
    struct stat status;
    if (fstat(fd, &status))
        return false;
    if ((status.st_mode & S_ISUID) && status.st_uid != geteuid())
        return true;
    if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid())
        return true;
    return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool is_glibc_loader(const char *path) {
    const char *base = strrchr(path, '/');
    return strncmp(base ? base + 1 : path, MACHINE_LOADER, sizeof MACHINE_LOADER - 1) == 0;
}

static int check_interpreter(int fd, const Elf64_Ehdr *header, const char *name) {
    for (int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr segment;
        uint64_t at = header->e_phoff + (uint64_t)i * sizeof segment;
        if (raw_pread(fd, &segment, sizeof segment, at) != sizeof segment)
            break;
        if (segment.p_type != PT_INTERP)
            continue;
        char interpreter[INTERPRETER_BYTES] = {0};
        size_t length = segment.p_filesz < sizeof interpreter - 1 ? segment.p_filesz : sizeof interpreter - 1;
        if (raw_pread(fd, interpreter, length, segment.p_offset) < 0)
            return WHYPERF_UNFOLLOWED_OTHER_LIBC;
        return is_glibc_loader(interpreter) ? 0 : WHYPERF_UNFOLLOWED_OTHER_LIBC;
    }
    return is_glibc_loader(name) ? 0 : WHYPERF_UNFOLLOWED_STATIC;
}

static uint64_t in_file(int fd, const Elf64_Ehdr *header, uint64_t address) {
    for (int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr segment;
        if (raw_pread(fd, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment) != sizeof segment)
            break;
        if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz)
            return address - segment.p_vaddr + segment.p_offset;
    }
    return 0;
}

// As src/whyperf/collect/target/sanitizers.py has them: libraries that end the program, or keep signals back, unless
// they are loaded first.
static bool is_sanitizer(const char *library) {
    static const char *const names[] = {"libasan.so",       "libhwasan.so",       "libtsan.so",
                                        "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(library, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

// Whether one of the libraries that the dynamic section names is a sanitizer's.
static bool needs_sanitizer(int fd, const Elf64_Ehdr *header, const Elf64_Phdr *dynamic) {
    enum { ENTRIES_MAX = 256, NAME_BYTES = 32 };
    uint64_t strings = 0, needed[ENTRIES_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < ENTRIES_MAX && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        if (raw_pread(fd, &entry, sizeof entry, dynamic->p_offset + i * sizeof entry) != sizeof entry ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_NEEDED)
            needed[count++] = entry.d_un.d_val;
        if (entry.d_tag == DT_STRTAB)
            strings = in_file(fd, header, entry.d_un.d_ptr);
    }
    for (unsigned i = 0; strings && i < count; i++) {
        char name[NAME_BYTES] = {0};
        if (raw_pread(fd, name, sizeof name - 1, strings + needed[i]) > 0 && is_sanitizer(name))
            return true;
    }
    return false;
}

static int check_libraries(int fd, const Elf64_Ehdr *header) {
    for (int i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr segment;
        if (raw_pread(fd, &segment, sizeof segment, header->e_phoff + (uint64_t)i * sizeof segment) != sizeof segment)
            break;
        if (segment.p_type == PT_DYNAMIC)
            return needs_sanitizer(fd, header, &segment) ? WHYPERF_UNFOLLOWED_RUNTIME : 0;
    }
    return 0;
}

static int check(int fd, const char *name, int depth) {
    union {
        char text[INTERPRETER_BYTES];
        unsigned char ident[EI_NIDENT];
        Elf64_Ehdr header;
    } start = {{0}};
    if (raw_pread(fd, &start, sizeof start - 1, 0) < 4)
        return 0;
    if (start.text[0] == '#' && start.text[1] == '!')
        return check_script(start.text, depth);
    if (memcmp(start.ident, ELFMAG, SELFMAG) != 0)
        return 0;
    if (start.ident[EI_CLASS] != ELFCLASS64 || start.header.e_machine != UNWIND_ELF_MACHINE)
        return WHYPERF_UNFOLLOWED_OTHER_ARCHITECTURE;
    if (gains_privileges(fd))
        return WHYPERF_UNFOLLOWED_SETUID;
    int reason = check_interpreter(fd, &start.header, name);
    return reason ? reason : check_libraries(fd, &start.header);
}

// access() asks for the real user, and without capabilities unless that is root: as a program finds it that such a user
// starts, though who starts it may have kept some. Those in the ambient set the program has, too.
static bool may_access(const char *path, int wanted) {
    return syscall(SYS_faccessat, AT_FDCWD, path, wanted) == 0 ||
           syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_DAC_OVERRIDE, 0, 0) == 1;
}

// Opened here, it may still not be by the new program. Not asked where system calls are not allowed.
static bool will_reach(const char *path, int open_flags, int wanted) {
    int fd = raw_open(path, open_flags, 0);
    if (fd < 0)
        return false;
    raw_close(fd);
    return atomic_load(&this_process.no_system_calls) || may_access(path, wanted);
}

// Seen from here, after chroot or a change of user, the new program must find both the library and the rings.
static int check_reachable(void) {
    bool reached = will_reach(this_process.session->library, O_RDONLY, R_OK) &&
                   will_reach(this_process.session_path, O_RDWR, R_OK | W_OK);
    return reached ? 0 : WHYPERF_UNFOLLOWED_UNREACHABLE;
}

int follow_check_path(const char *path) {
    int saved_errno = errno;
    int reason = check_file(path, SCRIPT_DEPTH);
    if (!reason)
        reason = check_reachable();
    errno = saved_errno;
    return reason;
}

int follow_check_fd(int fd, const char *name) {
    int saved_errno = errno;
    int reason = check(fd, name, SCRIPT_DEPTH);
    if (!reason)
        reason = check_reachable();
    errno = saved_errno;
    return reason;
}
