/* A program that loads two plug-ins one after the other. The second one gets the addresses of the first. */
#include <dlfcn.h>

typedef struct connection connection;
connection *xcb_connect(const char *, int *);
unsigned int xcb_no_operation(connection *);
int xcb_flush(connection *);

#ifdef PLUG_IN
void PLUG_IN(connection *x)
{
    xcb_no_operation(x);
    xcb_flush(x);
}
#else
static int draw(connection *x, const char *file, const char *name)
{
    void *plug_in = dlopen(file, RTLD_NOW);
    void (*function)(connection *) = plug_in ? dlsym(plug_in, name) : 0;
    for (int i = 0; i < 50 && function; i++)
        function(x);
    return function && !dlclose(plug_in);
}

int main(int count, char **arguments)
{
    connection *x = xcb_connect(0, 0);
    return count == 3 && draw(x, arguments[1], "first") && draw(x, arguments[2], "second") ? 7 : 8;
}
#endif
