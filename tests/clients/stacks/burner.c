/* Runs in functions of known names, each for a known time of the processor, before it shows its window. */
#include <stdint.h>
#include <time.h>

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
cookie xcb_get_input_focus(connection *);
void *xcb_get_input_focus_reply(connection *, cookie, void *);
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
    static const uint32_t black = 0;
    connection *x = xcb_connect(0, 0);
    uint32_t root = xcb_setup_roots_iterator(xcb_get_setup(x)).data->root, window = xcb_generate_id(x);
    work();
    xcb_create_window(x, 0, window, root, 0, 0, 200, 200, 0, 1, 0, 2, &black);
    xcb_map_window(x, window);
    xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0);
    xcb_disconnect(x);
    return 0;
}
