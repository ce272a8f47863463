// Does exactly one thing and prints what the events must say of it. A second thread or process takes part.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int flag;

static void say(const char *name, unsigned long long value) {
    printf("%s %llu\n", name, value);
}

static unsigned long long inode(int fd) {
    struct stat status;
    fstat(fd, &status);
    return status.st_ino;
}

static void pause_ms(int ms) {
    struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

static void *read_one(void *argument) {
    char byte[8];
    (void)argument;
    say("reader", (unsigned long long)gettid());
    if (read(ends[0], byte, sizeof byte) < 1)
        exit(1);
    return NULL;
}

static void with_reader(const void *sent, size_t size) {
    pthread_t thread;
    say("ours", inode(ends[0]));
    say("theirs", inode(ends[1]));
    pthread_create(&thread, NULL, read_one, NULL);
    pause_ms(50);
    if (write(ends[1], sent, size) != (ssize_t)size)
        exit(1);
    pthread_join(thread, NULL);
}

static void use_tcp(void) {
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, size);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &size);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    connect(ends[1], (struct sockaddr *)&address, size);
    ends[0] = accept(listener, NULL, NULL);
    say("server_port", ntohs(address.sin_port));
    getsockname(ends[1], (struct sockaddr *)&address, &size);
    say("client_port", ntohs(address.sin_port));
    with_reader("hello", 5);
}

static void use_epoll(void) {
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(ends))
        exit(1);
    say("ours", inode(ends[0]));
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    if (fork() == 0) {
        pause_ms(50);
        _exit(write(ends[1], "x", 1) != 1);
    }
    epoll_wait(epoll, &event, 1, -1);
    wait(NULL);
}

static void *wait_for_flag(void *argument) {
    (void)argument;
    pthread_mutex_lock(&mutex);
    say("waiter", (unsigned long long)gettid());
    while (!flag)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void use_condition(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_flag, NULL);
    pause_ms(50);
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    say("condition", (unsigned long long)&condition);
}

static void *lock_contended(void *argument) {
    (void)argument;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void use_mutex(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    say("mutex", (unsigned long long)&mutex);
    say("owner", (unsigned long long)gettid());
    pthread_create(&thread, NULL, lock_contended, NULL);
    pause_ms(50);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void use_shared_futex(const char *path) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, 8192))
        exit(1);
    unsigned *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
    say("file", inode(file));
    say("offset", 4096 + 16);
    pid_t child = fork();
    if (child == 0) {
        syscall(SYS_futex, words + 4, FUTEX_WAIT, 0, NULL, NULL, 0);
        _exit(0);
    }
    pause_ms(50);
    words[4] = 1;
    syscall(SYS_futex, words + 4, FUTEX_WAKE, 1, NULL, NULL, 0);
    wait(NULL);
}

// A child waits for a lock that its parent holds.
static void use_lock(const char *path, int posix) {
    struct flock range = {.l_type = F_WRLCK, .l_start = 100, .l_len = 50};
    int file = open(path, O_RDWR | O_CREAT, 0600);
    say("file", inode(file));
    posix ? fcntl(file, F_SETLK, &range) : flock(file, LOCK_EX);
    pid_t child = fork();
    if (child == 0) {
        int own = open(path, O_RDWR);
        _exit(posix ? fcntl(own, F_SETLKW, &range) : flock(own, LOCK_EX));
    }
    say("child", (unsigned long long)child);
    pause_ms(50);
    range.l_type = F_UNLCK;
    posix ? fcntl(file, F_SETLK, &range) : flock(file, LOCK_UN);
    wait(NULL);
}

static void use_semaphore(void) {
    int id = semget(IPC_PRIVATE, 3, 0600);
    struct sembuf down = {2, -1, 0}, up = {2, 1, 0};
    say("id", (unsigned long long)id);
    if (fork() == 0)
        _exit(semop(id, &down, 1));
    pause_ms(50);
    semop(id, &up, 1);
    wait(NULL);
    semctl(id, 0, IPC_RMID);
}

static void use_queue(void) {
    struct {
        long type;
        char text[4];
    } message = {1, "abc"};
    int id = msgget(IPC_PRIVATE, 0600);
    say("id", (unsigned long long)id);
    if (fork() == 0)
        _exit(msgrcv(id, &message, 4, 0, 0) != 4);
    pause_ms(50);
    msgsnd(id, &message, 4, 0);
    wait(NULL);
    msgctl(id, IPC_RMID, NULL);
}

static void use_posix_queue(void) {
    char name[64], message[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
    snprintf(name, sizeof name, "/whyperf-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    if (queue < 0)
        exit(77);
    mq_unlink(name);
    say("queue", inode((int)queue));
    if (fork() == 0)
        _exit(mq_receive(queue, message, sizeof message, NULL) != 3);
    pause_ms(50);
    mq_send(queue, "abc", 3, 0);
    wait(NULL);
}

static void use_timerfd(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 30000000}};
    unsigned long long count;
    timerfd_settime(timer, 0, &soon, NULL);
    if (read(timer, &count, sizeof count) != sizeof count)
        exit(1);
}

static void handle(int number) {
    (void)number;
}

static void use_signal(void) {
    signal(SIGUSR2, handle);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    say("child", (unsigned long long)child);
    pause_ms(50);
    kill(child, SIGUSR2);
    wait(NULL);
}

static void use_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(1);
    }
    say("child", (unsigned long long)child);
    wait(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, lock_contended, NULL);
    pthread_setname_np(pthread_self(), "renamed");
    pthread_join(thread, NULL);
}

static void use_sendfile(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(file, "0123456789", 10) != 10)
        exit(1);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    say("ours", inode(ends[0]));
    off_t from = 0;
    sendfile(ends[0], file, &from, 10);
}

static void use_faults(void) {
    enum { PAGES = 64 };
    char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
    say("memory", (unsigned long long)memory);
    say("pages", PAGES);
    for (int i = 0; i < PAGES; i++)
        memory[i * 4096] = 1;
}

static void use_disk(const char *path) {
    char *block;
    if (posix_memalign((void **)&block, 4096, 4096))
        exit(1);
    memset(block, 7, 4096);
    int file = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (file < 0 || pwrite(file, block, 4096, 0) != 4096 || fsync(file) || pread(file, block, 4096, 0) != 4096)
        exit(77);
}

static void *map_and_unmap(void *argument) {
    (void)argument;
    for (int i = 0; i < 20000; i++) {
        char *memory = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory[0] = 1;
        munmap(memory, 16384);
    }
    return NULL;
}

// All threads of a process change its one table of mappings.
static void use_contention(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, map_and_unmap, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

// Writes a variable after it was told to.
static void use_flag(void) {
    char byte;
    say("flag", (unsigned long long)&flag);
    fflush(stdout);
    if (read(0, &byte, 1) != 1)
        exit(1);
    for (int i = 1; i <= 3; i++)
        *(volatile int *)&flag = i;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "", *path = count > 2 ? arguments[2] : "";
    unsigned long long one = 1;
    if (strcmp(what, "pipe") == 0) {
        if (pipe(ends))
            return 1;
        with_reader("hello", 5);
    } else if (strcmp(what, "unix") == 0) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        with_reader("hello", 5);
    } else if (strcmp(what, "eventfd") == 0) {
        ends[0] = ends[1] = eventfd(0, 0);
        with_reader(&one, sizeof one);
    } else if (strcmp(what, "tcp") == 0)
        use_tcp();
    else if (strcmp(what, "epoll") == 0)
        use_epoll();
    else if (strcmp(what, "condition") == 0)
        use_condition();
    else if (strcmp(what, "mutex") == 0)
        use_mutex();
    else if (strcmp(what, "shared-futex") == 0)
        use_shared_futex(path);
    else if (strcmp(what, "flock") == 0)
        use_lock(path, 0);
    else if (strcmp(what, "fcntl") == 0)
        use_lock(path, 1);
    else if (strcmp(what, "semaphore") == 0)
        use_semaphore();
    else if (strcmp(what, "queue") == 0)
        use_queue();
    else if (strcmp(what, "posix-queue") == 0)
        use_posix_queue();
    else if (strcmp(what, "timerfd") == 0)
        use_timerfd();
    else if (strcmp(what, "signal") == 0)
        use_signal();
    else if (strcmp(what, "fork") == 0)
        use_fork();
    else if (strcmp(what, "sendfile") == 0)
        use_sendfile(path);
    else if (strcmp(what, "faults") == 0)
        use_faults();
    else if (strcmp(what, "contention") == 0)
        use_contention();
    else if (strcmp(what, "flag") == 0)
        use_flag();
    else if (strcmp(what, "disk") == 0)
        use_disk(path);
    else
        return 2;
    return 0;
}
