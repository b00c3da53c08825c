/* The functions of a Python program, read from the interpreter's memory.
 *
 * A thread reads its own frames: nobody else changes them, and they hold their code. So the interpreter's lock is not
 * needed, which Tk's calls are made without. The layouts are those of CPython 3.8 to 3.13 on 64-bit machines: PyThreadState,
 * PyFrameObject or _PyInterpreterFrame (pycore_frame.h), PyCodeObject, PyASCIIObject. Other versions, and those without the lock, have no names. */

enum { FIRST_MINOR = 8, FUNCTIONS = 1 << 12, IS_OF_LOOP = 3 };

static const struct layout {
    uint8_t frame, inner;       /* of the newest frame in the thread's state, or in the structure there */
    uint8_t code, previous, at; /* of a frame's code, caller and instruction, or that one's number */
    uint8_t mark;               /* of the byte that tells the first frame of a loop, or one of the loop itself */
    uint8_t instructions, file, name; /* of the code's instructions and texts */
    uint8_t text, wide;         /* of the letters of a text: of ASCII, of others */
} layouts[] = {
    {24, 0, 32, 24, 104, 0, 0, 104, 112, 48, 72}, /* 3.8 */
    {24, 0, 32, 24, 104, 0, 0, 104, 112, 48, 72},
    {24, 0, 32, 24, 96, 0, 0, 104, 112, 48, 72},
    {56, 8, 32, 48, 56, 68, 184, 112, 128, 48, 72}, /* 3.11 */
    {56, 0, 0, 8, 56, 70, 192, 112, 128, 40, 56},
    {72, 0, 0, 8, 56, 70, 200, 112, 128, 40, 56},
};

struct python_stack {
    int count, next, all; /* frames; those that were taken; whether the innermost loop has them all */
    struct {
        const char *code;
        int at, is_first; /* the instruction; of its loop */
    } frames[DEPTH];
};

static int minor;
static const struct layout *layout;
static void *loop, *(*thread_state)(void), *(*function_at)(void *);
static int (*line_at)(const void *, int);
/* Functions that have numbers. */
static struct {
    const char *code, *file;
    uint64_t name;
    uint32_t number;
} functions[FUNCTIONS];

static void python_begin(void *function_at_address)
{
    const char *(*version)(void) = dlsym(RTLD_DEFAULT, "Py_GetVersion"), *text = version ? version() : "";
    int digits = text[0] == '3' && text[1] == '.' ? atoi(text + 2) - FIRST_MINOR : -1;
    thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    line_at = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
    loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    function_at = function_at_address;
    minor = digits + FIRST_MINOR;
    /* Its objects have another beginning. */
    if (strstr(text, "free-threading"))
        return;
    if (thread_state && line_at && loop && function_at && digits >= 0 && digits < (int)(sizeof layouts / sizeof *layouts))
        layout = &layouts[digits];
}

static inline const char *word(const char *at, int offset)
{
    return *(const char *const *)(at + offset);
}

/* The thread's newest frame. */
static const char *python_newest(void)
{
    const char *state = layout ? thread_state() : 0, *frame = state ? word(state, layout->frame) : 0;
    return frame && (minor == 11 || minor == 12) ? word(frame, layout->inner) : frame;
}

/* A frame's instruction, as the interpreter counts. */
static inline uint64_t python_position(const char *frame)
{
    return layout->instructions ? (uint64_t)word(frame, layout->at) : *(const uint32_t *)(frame + layout->at);
}

/* The letters of a text, each of `kind` bytes. A text of a class that the program derived has its letters elsewhere: none. */
static inline const char *python_letters(const char *text, uint64_t *count, uint32_t *kind)
{
    enum { LENGTH = 16, STATE = 32 }; /* PyASCIIObject */
    uint32_t state = *(const uint32_t *)(text + STATE), is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    *kind = state >> 2 & 7;
    *count = is_compact ? (uint64_t)word(text, LENGTH) : 0;
    return text + (is_ascii ? layout->text : layout->wide);
}

/* The length of a code's name, with its first and last letters. */
static inline uint64_t python_name(const char *code)
{
    uint64_t length, first = 0, last = 0;
    uint32_t kind;
    const char *text = python_letters(word(code, layout->name), &length, &kind);
    memcpy(&first, text, length < 8 ? length : 8);
    if (length > 8)
        memcpy(&last, text + length - 8, 8);
    return first ^ (last << 1) ^ length << 56;
}

/* Tells stacks of Python's apart: one of C has many. The address of a code that is freed is soon another one's. */
static uint64_t python_hash(void)
{
    uint64_t hash = 0;
    const char *frame = python_newest();
    for (int i = 0; frame && i < DEPTH; i++, frame = word(frame, layout->previous)) {
        const char *code = word(frame, layout->code);
        hash = ((hash ^ (uint64_t)code) * 0x9E3779B97F4A7C15ULL) ^ python_position(frame);
        if (minor <= 11 || frame[layout->mark] != IS_OF_LOOP)
            hash ^= python_name(code);
    }
    return hash;
}

static int python_is_loop(uint64_t pc)
{
    return layout && function_at((void *)pc) == loop;
}

/* Reads the frames that belong to a stack of C. */
static void python_read(struct python_stack *stack, const uint64_t *pc, int depth)
{
    int loops = 0, i = 0;
    stack->count = stack->next = stack->all = 0;
    const char *frame = python_newest();
    for (; frame && i < DEPTH; frame = word(frame, layout->previous)) {
        int mark = layout->mark ? frame[layout->mark] : 1;
        if (minor > 11 && mark == IS_OF_LOOP) {
            if (i)
                stack->frames[i - 1].is_first = 1;
            continue;
        }
        const char *code = word(frame, layout->code);
        uint64_t at = python_position(frame);
        if (layout->instructions)
            at -= (uint64_t)code + layout->instructions;
        else if (minor == 10)
            at *= 2;
        stack->frames[i].code = code;
        stack->frames[i].at = (int)at;
        stack->frames[i++].is_first = minor <= 11 && mark;
    }
    stack->count = i;
    while (i--)
        loops += stack->frames[i].is_first;
    while (depth--)
        loops -= python_is_loop(pc[depth]);
    /* A part of the loop's code that is not known as its own. */
    stack->all = loops != 0;
}

/* Writes a text as UTF-8. */
static uint32_t python_text(const char *text, char *to, uint32_t room)
{
    uint32_t kind, length = 0;
    uint64_t count;
    const char *from = python_letters(text, &count, &kind);
    for (; count-- && length + 4 <= room; from += kind) {
        uint32_t letter = kind == 1 ? *(const uint8_t *)from : kind == 2 ? *(const uint16_t *)from : *(const uint32_t *)from;
        int more = letter < 0x80 ? 0 : letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
        to[length++] = more ? (char)(0xff << (7 - more) | letter >> 6 * more) : (char)letter;
        while (more--)
            to[length++] = (char)(0x80 | (letter >> 6 * more & 0x3f));
    }
    return length;
}

static uint32_t python_function(const char *code)
{
    const char *file = word(code, layout->file), *name = word(code, layout->name);
    typeof(functions[0]) *known = &functions[(uint64_t)code / 16 % FUNCTIONS];
    if (known->code != code || known->file != file || known->name != python_name(code)) {
        static char texts[NAME];
        uint32_t length = python_text(file, texts, NAME / 2);
        texts[length++] = 0;
        length += python_text(name, texts + length, NAME / 2 - 1);
        uint32_t number = __atomic_add_fetch(&shared->modules, 1, __ATOMIC_RELAXED);
        if (!define(A_FUNCTION, number, length, texts, length))
            return NO_MODULE;
        known->code = code, known->file = file, known->name = python_name(code), known->number = number;
    }
    return known->number;
}

/* Writes the frames of the next loop, so many at most. */
static uint32_t python_take(struct python_stack *stack, struct frame *to, int most)
{
    int count = 0, is_over = 0;
    while (stack->next < stack->count && count < most && !is_over) {
        const char *code = stack->frames[stack->next].code;
        to[count].module = python_function(code);
        to[count++].address = line_at(code, stack->frames[stack->next].at);
        is_over = stack->frames[stack->next++].is_first && !stack->all;
    }
    return count;
}
