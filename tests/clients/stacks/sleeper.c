/* A client that is off the processor at its first key, in functions of known names, each for a known time and another object,
 * then draws and ends. It writes the time of each function to standard output. It needs the library libxcb, and none of its
 * headers. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct connection connection;
struct setup;
typedef struct { unsigned int sequence; } cookie;
typedef struct { uint32_t root; } screen;
typedef struct { screen *data; int rem, index; } screens;
connection *xcb_connect(const char *, int *);
const struct setup *xcb_get_setup(connection *);
screens xcb_setup_roots_iterator(const struct setup *);
uint32_t xcb_generate_id(connection *);
cookie xcb_create_window(connection *, uint8_t, uint32_t, uint32_t, int16_t, int16_t, uint16_t, uint16_t, uint16_t, uint16_t, uint32_t, uint32_t, const void *);
cookie xcb_map_window(connection *, uint32_t);
cookie xcb_clear_area(connection *, uint8_t, uint32_t, int16_t, int16_t, uint16_t, uint16_t);
int xcb_flush(connection *);
unsigned char *xcb_wait_for_event(connection *);
cookie xcb_get_input_focus(connection *);
void *xcb_get_input_focus_reply(connection *, cookie, void *);

static pthread_mutex_t model = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
static const char *file;

static void pause_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, 0);
}

static void *hold_model(void *arg)
{
    pthread_mutex_lock(&model);
    held = 1;
    pause_ms(300);
    pthread_mutex_unlock(&model);
    return arg;
}

__attribute__((noinline)) void load_config(void)
{
    nanosleep(&(struct timespec){ 0, 500000000 }, 0); /* load_config */
    __asm__ volatile("");
}

__attribute__((noinline)) void update_model(void)
{
    pthread_mutex_lock(&model); /* update_model */
    pthread_mutex_unlock(&model);
}

__attribute__((noinline)) void run_child(pid_t child)
{
    waitpid(child, 0, 0); /* run_child */
    __asm__ volatile("");
}

__attribute__((noinline)) void read_pipe(int from)
{
    char byte;
    if (read(from, &byte, 1) != 1) /* read_pipe */
        _exit(2);
}

__attribute__((noinline)) void lock_file(int of)
{
    flock(of, LOCK_EX); /* lock_file */
    __asm__ volatile("");
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

#define TIMED(name, call) do { double from = now(); call; printf("%s %.3f\n", name, now() - from); } while (0)

static pid_t child_that(int written, int locked, long ms)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    int of = locked ? open(file, O_RDWR) : -1;
    if (of >= 0)
        flock(of, LOCK_EX);
    if (locked && write(written, "l", 1) != 1)
        _exit(2);
    pause_ms(ms);
    if (!locked && written >= 0 && write(written, "p", 1) != 1)
        _exit(2);
    _exit(0);
}

enum { KEY_PRESS = 2, EXPOSE = 12 };

/* The argument is a file to be locked, which is created when the window is there. */
int main(int count, char **words)
{
    static const uint32_t values[] = { 0, 0x8001 };
    int pipes[2], of = -1;
    char byte;
    pthread_t holder;
    file = words[count - 1];
    connection *x = xcb_connect(0, 0);
    uint32_t root = xcb_setup_roots_iterator(xcb_get_setup(x)).data->root, window = xcb_generate_id(x);
    xcb_create_window(x, 0, window, root, 0, 0, 400, 400, 0, 1, 0, 0x802, values);
    xcb_map_window(x, window);
    xcb_flush(x);
    for (int code; (code = xcb_wait_for_event(x)[0] & 127) != KEY_PRESS;)
        if (code == EXPOSE) {
            xcb_clear_area(x, 0, window, 0, 0, 400, 400);
            xcb_flush(x);
            of = open(file, O_RDWR | O_CREAT, 0600);
        }
    TIMED("load_config", load_config());
    pthread_create(&holder, 0, hold_model, 0);
    while (!held)
        ;
    TIMED("update_model", update_model());
    TIMED("run_child", run_child(child_that(-1, 0, 250)));
    if (pipe(pipes) != 0)
        return 2;
    child_that(pipes[1], 0, 200);
    TIMED("read_pipe", read_pipe(pipes[0]));
    child_that(pipes[1], 1, 150);
    if (read(pipes[0], &byte, 1) != 1)
        return 2;
    TIMED("lock_file", lock_file(of));
    xcb_clear_area(x, 0, window, 0, 0, 400, 400);
    xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0);
    return 0;
}
