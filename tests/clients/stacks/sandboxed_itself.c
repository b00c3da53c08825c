/* Makes a request on a connection of its own, and calls that fail, permits itself to read, write and exit alone, and makes another request. The
 * argument says by which call: prctl, seccomp, or prctl with the strict mode. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <stdio.h>

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read), ALLOW(write), ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static int all(int x, void *into, int size)
{
    int had = 0, more;
    while (had < size && (more = read(x, (char *)into + had, size - had)) > 0)
        had += more;
    return had == size;
}

static int connected(void)
{
    static char file[4096], setup[48] = {'l', 0, 11}, rest[1 << 18];
    unsigned char head[8];
    struct sockaddr_un address = {AF_UNIX};
    int x = socket(AF_UNIX, SOCK_STREAM, 0), size = 12;
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.X11-unix/X%d", atoi(strrchr(getenv("DISPLAY"), ':') + 1));
    const char *authority = getenv("XAUTHORITY");
    int length = authority ? read(open(authority, O_RDONLY), file, sizeof file) : 0;
    char *name = length > 0 ? memmem(file, length, "MIT-MAGIC-COOKIE-1", 18) : 0;
    if (name) {
        memcpy(setup + 12, name, 18);
        memcpy(setup + 32, name + 20, 16);
        setup[6] = 18, setup[8] = 16, size = sizeof setup;
    }
    if (connect(x, (void *)&address, sizeof address) || write(x, setup, size) != size || !all(x, head, 8))
        return -1;
    return head[0] == 1 && all(x, rest, 4 * (head[6] | head[7] << 8)) ? x : -1;
}

__attribute__((noinline)) static int ask_before(int x)
{
    char request[4] = {43, 0, 1, 0}, reply[32];
    return write(x, request, 4) == 4 && all(x, reply, 32);
}

__attribute__((noinline)) static int ask_in_the_sandbox(int x)
{
    return 2 * ask_before(x);
}

int main(int count, char **arguments)
{
    (void)count;
    const char *how = arguments[1];
    struct sock_fprog program = {sizeof calls / sizeof *calls, calls};
    struct iovec part = {"", 1};
    void *volatile nowhere = (void *)8;
    volatile int minus = -1;
    int x = connected(), before = ask_before(x), error;
    if (writev(x, &part, minus) + write(x, nowhere, 4) + sendmsg(x, nowhere, 0) != -3)
        return 10;
    if (!strcmp(how, "strict"))
        error = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (!strcmp(how, "prctl"))
        error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else
        error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    int status = error ? 9 : before + ask_in_the_sandbox(x) == 3 ? 7 : 8;
    syscall(strcmp(how, "strict") ? SYS_exit_group : SYS_exit, status);
}
