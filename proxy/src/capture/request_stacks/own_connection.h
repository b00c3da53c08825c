/* Connections of a program that has neither libX11 nor libxcb for them, such as python-xlib.
 *
 * A request has the stack on which its first byte was sent: that of a flush, where the program gathers requests. The
 * library puts its functions before libc's that connect and send. A program that makes system calls itself has no stacks:
 * its calls would have to be intercepted by signals, which programs notice. */

enum { OWN = 8, SETUP = 12, REPLY = 16, PATIENCE_MS = 1000, SHORT_MS = 20 };

/* A connection. The setup comes first, then requests. */
struct stream {
    int fd, is_set_up, has_base;
    dev_t device;
    ino_t socket;
    uint32_t base, sequence, had; /* bytes of a head that are there */
    uint64_t left;                /* bytes that follow a head */
    uint8_t head[SETUP];
};

static struct stream own[OWN];
static int own_count;

/* libc's functions that the library's own are put before. Another library's constructor may call them before look_up(). */
#define FUNCTIONS(F) \
    F(write) F(send) F(sendto) F(writev) F(sendmsg) F(sendmmsg) F(fdopen) F(dup) F(dup2) F(dup3) F(fcntl) F(fcntl64) \
    F(connect) F(dlclose)
#define FIELD(name) typeof(&name) name;
static struct {
    FUNCTIONS(FIELD)
} next_of;
#define NEXT(name) typeof(&name) next = next_of.name ? next_of.name : (next_of.name = dlsym(RTLD_NEXT, #name))

/* Of threads that send at once none has a place in the order: nothing more is told of such a connection. */
static int senders[OWN], is_out_of_order[OWN];

static int is_of(const struct stream *stream, int fd)
{
    struct stat about;
    int error = errno, is_same = !fstat(fd, &about) && about.st_ino == stream->socket && about.st_dev == stream->device;
    errno = error;
    return is_same;
}

/* The connection, which the caller holds until sent(). */
static struct stream *stream_of(int fd)
{
    for (int i = 0; i < __atomic_load_n(&own_count, __ATOMIC_ACQUIRE); i++) {
        if (own[i].fd != fd || !is_of(&own[i], fd))
            continue;
        if (!is_out_of_order[i] && !__atomic_exchange_n(&senders[i], 1, __ATOMIC_ACQUIRE))
            return &own[i];
        is_out_of_order[i] = 1;
    }
    return 0;
}

static void take(struct stream *stream, const uint8_t *bytes, uint64_t count, uint32_t stack)
{
    while (count) {
        uint64_t part = stream->left < count ? stream->left : count;
        stream->left -= part, bytes += part, count -= part;
        if (!count)
            break;
        if (!stream->had && stream->is_set_up && ++stream->sequence && stack)
            tell(stream->base, stream->sequence, stack);
        stream->head[stream->had++] = *bytes++, count--;
        uint16_t length, words[2];
        uint32_t big;
        memcpy(&length, stream->head + 2, 2);
        memcpy(&big, stream->head + 4, 4);
        memcpy(words, stream->head + 6, 4);
        uint32_t needed = !stream->is_set_up ? SETUP : stream->had < 4 || length ? 4 : 8;
        if (stream->had < needed)
            continue;
        if (!stream->is_set_up && stream->head[0] != 'l') {
            stream->fd = -1, stream->had = 0;
            return;
        }
        uint64_t all = length ? 4ULL * length : 4ULL * big;
        if (!stream->is_set_up)
            all = SETUP + ((words[0] + 3ULL) & ~3ULL) + ((words[1] + 3ULL) & ~3ULL);
        stream->left = all < needed ? 0 : all - needed;
        stream->had = 0;
        stream->is_set_up = 1;
    }
}

/* Takes so many bytes of the parts. */
static void take_parts(struct stream *stream, const struct iovec *parts, size_t count, uint64_t bytes, uint32_t stack)
{
    for (; count-- && bytes; parts++) {
        uint64_t part = parts->iov_len < bytes ? parts->iov_len : bytes;
        take(stream, parts->iov_base, part, stack);
        bytes -= part;
    }
}

/* Takes the bytes that were sent of `parts`, which are looked at if there are any: the kernel has checked them. Tells the stack
 * of each request of which the first byte is among them. */
static void sent(struct stream *stream, const struct iovec *parts, size_t count, ssize_t bytes, struct place_of_call frame)
{
    int error = errno;
    if (bytes > 0)
        take_parts(stream, parts, count, bytes, stream->has_base ? stack_at(frame) : 0);
    /* Where the program's own thread has the reply, waiting is in vain: the next time it is short. */
    static int patience = PATIENCE_MS;
    if (stream->is_set_up && !stream->has_base && !stream->left) {
        /* The program waits for this reply as well; a thread of its own may have it already. */
        struct pollfd reply = {.fd = stream->fd, .events = POLLIN};
        uint8_t bytes_of[REPLY] = {0};
        int is_ready, signals = PATIENCE_MS;
        while ((is_ready = poll(&reply, 1, patience)) < 0 && errno == EINTR && signals--)
            ;
        /* A server or relay may send the reply's head by itself. */
        ssize_t here = 0;
        for (int rest = patience; is_ready == 1 && rest--; poll(0, 0, 1))
            if ((here = recv(stream->fd, bytes_of, REPLY, MSG_PEEK | MSG_DONTWAIT)) <= 0 || here == REPLY)
                break;
        if (here != REPLY || bytes_of[0] != 1)
            stream->fd = -1, patience = SHORT_MS;
        memcpy(&stream->base, bytes_of + offsetof(struct setup, resource_id_base), 4);
        stream->has_base = 1;
    }
    __atomic_store_n(&senders[stream - own], 0, __ATOMIC_RELEASE);
    errno = error;
}

/* Sends by `send`, and tells the stacks. */
#define TOLD(stream, parts, count, send) \
    ({ \
        ssize_t bytes = send; \
        sent((stream), bytes > 0 ? (parts) : 0, bytes > 0 ? (count) : 0, bytes, CALLER); \
        bytes; \
    })

ssize_t write(int fd, const void *from, size_t size)
{
    NEXT(write);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size)) : next(fd, from, size);
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
    NEXT(send);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size, flags)) : next(fd, from, size, flags);
}

ssize_t sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length)
{
    NEXT(sendto);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size, flags, to, length))
                  : next(fd, from, size, flags, to, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    NEXT(writev);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, parts, count, next(fd, parts, count)) : next(fd, parts, count);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, message->msg_iov, message->msg_iovlen, next(fd, message, flags))
                  : next(fd, message, flags);
}

/* The bytes that are sent over the connection are not known any more: its later requests have no stacks. */
static void lose(int fd)
{
    for (int i = 0; i < __atomic_load_n(&own_count, __ATOMIC_ACQUIRE); i++)
        if (own[i].fd == fd)
            own[i].fd = -1;
}

/* Functions that send in other ways, or after which the program does. */
#define LOSES(type, name, parameters, arguments, fd) \
    type name parameters \
    { \
        NEXT(name); \
        lose(fd); \
        return next arguments; \
    }
LOSES(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags), (fd, messages, count, flags), fd)
LOSES(FILE *, fdopen, (int fd, const char *mode), (fd, mode), fd)
LOSES(int, dup, (int fd), (fd), fd)
LOSES(int, dup2, (int fd, int to), (fd, to), fd)
LOSES(int, dup3, (int fd, int to, int flags), (fd, to, flags), fd)

#define LOSES_DUPLICATED(name) \
    int name(int fd, int command, ...) \
    { \
        NEXT(name); \
        va_list words; \
        va_start(words, command); \
        long word = va_arg(words, long); \
        va_end(words); \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) \
            lose(fd); \
        return next(fd, command, word); \
    }
LOSES_DUPLICATED(fcntl)
LOSES_DUPLICATED(fcntl64)

/* From now on the library makes no system call of its own: the program may permit itself, and its other threads, certain ones
 * only. */
static void fall_silent(void)
{
    /* A child that shares this memory until its exec (vfork). */
    if (process && syscall(SYS_getpid) != process)
        return;
    __atomic_store_n(&is_silent, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < own_count; i++)
        own[i].fd = -1;
    for (int times = 0; times < PATIENCE_MS && __atomic_load_n(&inside, __ATOMIC_SEQ_CST) > busy; times++)
        poll(0, 0, 1);
}

static int is_restriction(long call, long option)
{
    return (call == SYS_seccomp && option <= SECCOMP_SET_MODE_FILTER) || (call == SYS_prctl && (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP));
}

int prctl(int option, ...)
{
    va_list words;
    va_start(words, option);
    unsigned long a = va_arg(words, unsigned long), b = va_arg(words, unsigned long), c = va_arg(words, unsigned long);
    unsigned long d = va_arg(words, unsigned long);
    va_end(words);
    return syscall(SYS_prctl, option, a, b, c, d);
}

/* It looks for no other function: one that allocates memory may come here. */
long syscall(long call, ...)
{
    va_list words;
    va_start(words, call);
    long a = va_arg(words, long), b = va_arg(words, long), c = va_arg(words, long);
    register long d __asm__("r10") = va_arg(words, long);
    register long e __asm__("r8") = va_arg(words, long);
    register long f __asm__("r9") = va_arg(words, long);
    va_end(words);
    if (is_restriction(call, a))
        fall_silent();
    __asm__ volatile("syscall" : "+a"(call) : "D"(a), "S"(b), "d"(c), "r"(d), "r"(e), "r"(f) : "rcx", "r11", "memory");
    if (call >= -4095 && call < 0)
        errno = -call, call = -1;
    return call;
}

static int is_of_libxcb(void *caller)
{
    Dl_info about = {0};
    struct found found = {0};
    /* dladdr takes the lock of the loader. */
    if (!find_object)
        dladdr(caller, &about);
    else if (!find_object(caller, &found) && found.map)
        about.dli_fname = found.map->l_name;
    /* libxcb-<hash>.so is that of a wheel of Python. */
    return about.dli_fname && (strstr(about.dli_fname, "/libxcb.so") || strstr(about.dli_fname, "/libxcb-"));
}

/* A place for a connection: of one whose number has been given anew, or that is closed. */
static struct stream *place_of(int fd)
{
    for (int i = 0; i < own_count; i++)
        if (own[i].fd == fd || own[i].fd < 0 || !is_of(&own[i], own[i].fd))
            return &own[i];
    return own_count < OWN ? &own[own_count] : 0;
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    NEXT(connect);
    static const char display[] = "/tmp/.X11-unix/X";
    static int connecting;
    int result = next(fd, to, length), error = errno;
    struct stat about;
    /* The kernel has read the address. */
    if (result || is_silent || to->sa_family != AF_UNIX || is_of_libxcb(__builtin_return_address(0)) || fstat(fd, &about))
        goto out;
    const char *path = ((const struct sockaddr_un *)to)->sun_path;
    int offset = offsetof(struct sockaddr_un, sun_path), is_abstract = (int)length > offset && !*path;
    if ((int)length < (int)(offset + is_abstract + sizeof display - 1)
        || memcmp(path + is_abstract, display, sizeof display - 1) || __atomic_exchange_n(&connecting, 1, __ATOMIC_ACQUIRE))
        goto out;
    begin();
    struct stream *stream = is_to_recorder(fd) ? place_of(fd) : 0;
    if (stream) {
        int number = stream - own;
        stream->fd = -1;
        senders[number] = is_out_of_order[number] = 0;
        *stream = (struct stream){.fd = fd, .socket = about.st_ino, .device = about.st_dev};
        if (number == own_count)
            __atomic_store_n(&own_count, own_count + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&connecting, 0, __ATOMIC_RELEASE);
out:
    errno = error;
    return result;
}
