/* Runs in functions of known names, each for a known time of the processor: it has a connection, and computes. */
#include <time.h>

typedef struct connection connection;
connection *xcb_connect(const char *, int *);
void xcb_disconnect(connection *);

static volatile double sum;

static double ran_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * now.tv_sec + now.tv_nsec / 1e6;
}

#define FUNCTION(name) \
    __attribute__((noinline)) void name(double ms) \
    { \
        for (double end = ran_ms() + ms; ran_ms() < end;) \
            for (int i = 1; i < 100000; i++) \
                sum += 1.0 / i; \
    }
FUNCTION(lay_out)
FUNCTION(paint)

__attribute__((noinline)) void work(void)
{
    lay_out(100);
    paint(300);
    lay_out(100);
}

int main(void)
{
    connection *x = xcb_connect(0, 0);
    work();
    xcb_disconnect(x);
    return 0;
}
