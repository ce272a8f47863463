// A tracer that outlives its process: maps and links as files in bpffs.
#include "tracer/rows.h"
#include "tracer/tracer.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static const char LINK_PREFIX[] = "link-";

static bool in_bpffs(const char *folder) {
    struct statfs status;
    return statfs(folder, &status) == 0 && status.f_type == BPF_FS_MAGIC;
}

// 0 if it is a folder of ours in which nobody else can put or replace a pin. bpffs may be open to all users, like /tmp:
// what another one left there is neither believed nor removed.
static int check_folder(const char *folder) {
    struct stat status;
    if (lstat(folder, &status))
        return errno;
    bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
    return is_ours ? 0 : EPERM;
}

static int refuse_folder(const char *folder, int error, char text[TRACER_TEXT]) {
    if (error == EPERM)
        snprintf(text, TRACER_TEXT, "%.400s belongs to another user or can be changed by others", folder);
    else
        snprintf(text, TRACER_TEXT, "no tracer is pinned in %.400s", folder);
    return error;
}

// The folder itself; bpffs is mounted where it usually is, if nobody has done so and we may.
static int make_folder(const char *folder, char text[TRACER_TEXT]) {
    static const char USUAL[] = "/sys/fs/bpf";
    if (!in_bpffs(USUAL) && strncmp(folder, USUAL, strlen(USUAL)) == 0 &&
        mount("bpf", USUAL, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700")) {
        int error = errno;
        snprintf(text, TRACER_TEXT, "%s cannot be mounted", USUAL);
        return error;
    }
    if (mkdir(folder, 0700) && errno != EEXIST) {
        int error = errno;
        snprintf(text, TRACER_TEXT, "%.400s cannot be made", folder);
        return error;
    }
    int error = check_folder(folder);
    if (error)
        return refuse_folder(folder, error, text);
    if (!in_bpffs(folder)) {
        snprintf(text, TRACER_TEXT, "%.400s does not lie in a bpf file system", folder);
        rmdir(folder); // if it was made just now; one with files in it stays
        return EINVAL;
    }
    return 0;
}

int tracer_pin(struct tracer *tracer, const char *folder, char text[TRACER_TEXT]) {
    char path[PATH_MAX];
    int error = make_folder(folder, text);
    if (error)
        return error;
    for (int i = 0; i < TRACER_MAPS && !error; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, tracer_map_name((enum tracer_map)i));
        error = bpf_obj_pin(tracer->maps[i].fd, path) ? errno : 0;
    }
    for (u32 i = 0; i < tracer->link_count && !error; i++) {
        snprintf(path, sizeof path, "%s/%s%u", folder, LINK_PREFIX, i);
        error = bpf_obj_pin(bpf_link__fd(tracer->links[i]), path) ? errno : 0;
    }
    if (error) {
        if (!text[0])
            snprintf(text, TRACER_TEXT, "%.400s cannot be pinned", path);
        tracer_unpin(folder);
        return error;
    }
    tracer->pinned = true;
    return 0;
}

// Each visited file's path; what `visit` returns other than 0 ends it.
static int for_each_pin(const char *folder, int (*visit)(void *context, const char *name, const char *path),
                        void *context) {
    DIR *directory = opendir(folder);
    if (!directory)
        return errno;
    int error = 0;
    struct dirent *entry;
    while (!error && (entry = readdir(directory))) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        error = visit(context, entry->d_name, path);
    }
    closedir(directory);
    return error;
}

static int remove_pin(void *context, const char *name, const char *path) {
    (void)context;
    (void)name;
    return unlink(path) ? errno : 0;
}

int tracer_unpin(const char *folder) {
    int error = check_folder(folder);
    if (!error && !in_bpffs(folder))
        error = EINVAL;
    if (!error)
        error = for_each_pin(folder, remove_pin, NULL);
    if (!error && rmdir(folder))
        error = errno;
    return error;
}

// The program behind a link, for its count of missed runs.
static int take_link(void *context, const char *name, const char *path) {
    struct tracer *tracer = context;
    struct bpf_link_info info = {0};
    u32 length = sizeof info;
    if (strncmp(name, LINK_PREFIX, strlen(LINK_PREFIX)) != 0)
        return 0;
    int fd = bpf_obj_get(path);
    if (fd < 0)
        return errno;
    int failed = bpf_obj_get_info_by_fd(fd, &info, &length);
    close(fd);
    tracer_keep_program(tracer, failed ? -1 : bpf_prog_get_fd_by_id(info.prog_id));
    return 0;
}

int tracer_open_pinned(struct tracer *tracer, const char *folder, char text[TRACER_TEXT]) {
    for (int i = 0; i < TRACER_MAPS; i++)
        tracer->maps[i].fd = -1;
    tracer->pinned = true;
    int error = check_folder(folder);
    if (error)
        return refuse_folder(folder, error, text);
    for (int i = 0; i < TRACER_MAPS; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, tracer_map_name((enum tracer_map)i));
        tracer->maps[i].fd = bpf_obj_get(path);
        if (tracer->maps[i].fd < 0)
            return refuse_folder(folder, errno, text);
    }
    error = for_each_pin(folder, take_link, tracer);
    if (!error)
        error = tracer_map_shared(tracer, text);
    // Rows that the tracer before wrote stay where they are; new ones follow them.
    return error || prepare_rows(tracer) ? error : ENOMEM;
}
