/* A program that loads itself as a plug-in, whose constructor waits for a thread that connects to the display. */
#include <dlfcn.h>
#include <pthread.h>

typedef struct connection connection;
typedef struct { unsigned int sequence; } cookie;
connection *xcb_connect(const char *, int *);
cookie xcb_get_input_focus(connection *);
void *xcb_get_input_focus_reply(connection *, cookie, void **);

#ifdef PLUG_IN
int has_reply;

static void *ask(void *nothing)
{
    connection *x = xcb_connect(0, 0);
    has_reply = xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0) != 0;
    return nothing;
}

__attribute__((constructor)) static void load(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, ask, 0);
    pthread_join(thread, 0);
}
#else
int main(int count, char **arguments)
{
    void *loaded = count > 1 ? dlopen(arguments[1], RTLD_NOW) : 0;
    int *has_reply = loaded ? dlsym(loaded, "has_reply") : 0;
    return has_reply && *has_reply ? 7 : 8;
}
#endif
