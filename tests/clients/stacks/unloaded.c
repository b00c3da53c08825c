/* A program that loads plug-ins one after the other. Each gets the addresses of the first. The file of the third is
   deleted while it runs. */
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

typedef struct connection connection;
connection *xcb_connect(const char *, int *);
unsigned int xcb_no_operation(connection *);
int xcb_flush(connection *);

#ifdef PLUG_IN
static double ran_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * now.tv_sec + now.tv_nsec / 1e6;
}

/* Runs for 3 ms of the processor. */
void PLUG_IN(connection *x)
{
    for (double end = ran_ms() + 3; ran_ms() < end;)
        for (volatile int i = 0; i < 100000; i++)
            ;
    xcb_no_operation(x);
    xcb_flush(x);
}
#else
static int draw(connection *x, const char *file, const char *name)
{
    void *plug_in = dlopen(file, RTLD_NOW);
    void (*function)(connection *) = plug_in ? dlsym(plug_in, name) : 0;
    if (name[0] == 't')
        unlink(file);
    for (int i = 0; i < 50 && function; i++)
        function(x);
    return function && !dlclose(plug_in);
}

int main(int count, char **arguments)
{
    connection *x = xcb_connect(0, 0);
    return count == 4 && draw(x, arguments[1], "first") && draw(x, arguments[2], "second")
            && draw(x, arguments[3], "third")
        ? 7
        : 8;
}
#endif
