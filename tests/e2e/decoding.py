"""Every message of xcb-proto's descriptions with random contents, and a comparison of a dump with these contents.
Arguments: make or check, the folder of the descriptions, a seed. `make` prints the server's extensions as JSON, then each
message: connection, direction, bytes in hexadecimal. `check` makes the same messages, reads a dump in JSON, and prints each
difference."""
import glob, json, os, random, re, struct, sys
import xml.etree.ElementTree as ET

FORMATS = dict(CARD8="B", BYTE="B", BOOL="B", char="B", void="B", INT8="b", CARD16="H", INT16="h", CARD32="I", INT32="i",
               float="f", double="d", CARD64="Q", INT64="q")
SKIPPED = {"doc", "reply", "required_start_align", "fd", "length", "enumref"}
# x11rb-protocol has no module for them.
LEFT_OUT = {"XpExtension"}
NATIVE = "<" if sys.byteorder == "little" else ">"
R = random.Random(int(sys.argv[3]))


class Number(dict):
    """An expected number, with its type and the names that it may have."""


class Unfit(Exception):
    """The random numbers do not make a message."""


class Module:
    """The descriptions of a file."""

    def __init__(self, path):
        self.root = ET.parse(path).getroot()
        self.name = self.root.get("header")
        self.extension = self.root.get("extension-xname")
        self.imports = [element.text.strip() for element in self.root.findall("import")]
        self.types, self.enums, self.requests, self.events, self.generic, self.errors = {}, {}, {}, {}, {}, {}
        for element in self.root:
            tag, name = element.tag, element.get("name")
            if tag in ("xidtype", "xidunion"):
                self.types[name] = "CARD32"
            elif tag == "typedef":
                self.types[element.get("newname")] = element.get("oldname")
            elif tag in ("struct", "union", "eventstruct"):
                self.types[name] = element
            elif tag == "enum":
                self.enums[name] = items(element)
            elif tag == "request":
                self.requests[int(element.get("opcode"))] = element
            # The head of all generic events is described as an event of its own.
            elif tag == "event" and name not in ("Generic", "GeGeneric"):
                (self.generic if element.get("xge") == "true" else self.events)[int(element.get("number"))] = (name, element)
            elif tag == "error":
                self.errors[int(element.get("number"))] = name

    def copies(self):
        """Adds the messages with the layout of another message."""
        for element in self.root:
            number = element.get("number")
            if element.tag == "eventcopy":
                of = [(table, layout) for module in family(self) for table, events in ((0, module.events), (1, module.generic))
                      for name, layout in list(events.values()) if name == element.get("ref")][0]
                (self.generic if of[0] else self.events)[int(number)] = (element.get("name"), of[1])
            elif element.tag == "errorcopy":
                self.errors[int(number)] = element.get("name")


def items(element):
    """The values of an enumeration: names by value, and which values are bits."""
    names, value = {}, 0
    for item in element.findall("item"):
        bit = item.find("bit")
        if item.find("value") is not None:
            value = int(item.find("value").text, 0)
        elif bit is not None:
            value = 1 << int(bit.text)
        names.setdefault(value, []).append((item.get("name"), bit is not None))
        value += 1
    return names


def family(module):
    """A module and the modules that it imports."""
    found, todo = [], [module.name]
    while todo:
        name = todo.pop(0)
        if MODULES[name] not in found:
            found.append(MODULES[name])
            todo += MODULES[name].imports
    return found


def find(module, name, table):
    """The module that defines a name, and the definition."""
    if ":" in name:
        prefix, name = name.split(":")
        module = MODULES[prefix]
    for one in family(module):
        if name in getattr(one, table):
            return one, getattr(one, table)[name]
    raise KeyError((module.name, name))


def resolve(module, name):
    """The module, and the name of a number's format or the description of a structure."""
    while name not in FORMATS:
        module, of = find(module, name, "types")
        if not isinstance(of, str):
            return module, of
        name = of
    return module, name


def parts(element):
    return [part for part in element if part.tag not in SKIPPED]


def operand(part):
    """The expression of a list, a switch or an exprfield; `None` of a list to the end."""
    found = [one for one in part if one.tag not in SKIPPED | {"bitcase", "case"} or part.tag == "exprfield"]
    return found[0] if found else None


def value(module, part, scopes):
    """The value of an expression."""
    tag, text = part.tag, (part.text or "").strip()
    inner = lambda index, scopes=scopes: value(module, part[index], scopes)
    if tag == "value":
        return int(text, 0)
    if tag == "bit":
        return 1 << int(text)
    if tag in ("fieldref", "paramref"):
        return next(scope[text] for scope in reversed(scopes) if text in scope)
    if tag == "enumref":
        names = find(module, part.get("ref"), "enums")[1]
        return next(number for number, all in names.items() if text in [name for name, _ in all])
    if tag == "op":
        a, b = inner(0), inner(1)
        return {"+": a + b, "-": a - b, "*": a * b, "/": a // b if b else 0, "&": a & b, "<<": a << min(b, 64)}[part.get("op")]
    if tag == "unop":
        return ~inner(0) & 0xFFFFFFFF
    if tag == "popcount":
        return bin(inner(0)).count("1")
    if tag == "sumof":
        elements = next(scope[part.get("ref")] for scope in reversed(scopes) if part.get("ref") in scope)
        if not len(part):
            return sum(elements)
        return sum(inner(0, scopes + [one if isinstance(one, dict) else {"@": one}]) for one in elements)
    if tag == "listelement-ref":
        return next(scope["@"] for scope in reversed(scopes) if "@" in scope)
    raise KeyError(tag)


def referred(module, element, found=None, seen=()):
    """The names of the fields that lengths depend on, with the switches that depend on them."""
    found = {} if found is None else found
    for part in element:
        if part.tag in ("list", "switch", "exprfield"):
            for one in [] if operand(part) is None else operand(part).iter():
                if one.tag in ("fieldref", "paramref"):
                    found.setdefault(one.text.strip(), []).extend([(module, part)] * (part.tag == "switch"))
        if part.tag in ("switch", "bitcase", "case"):
            referred(module, part, found, seen)
        if part.tag in ("field", "list") and part.get("type") != "fd":
            of, layout = resolve(module, part.get("type"))
            if not isinstance(layout, str) and layout not in seen:
                referred(of, layout, found, (*seen, layout))
    return found


class Maker:
    """Makes the contents of one message: bytes, and what a decoder should show."""

    def __init__(self, module, element, order, small):
        self.order, self.small, self.length, self.in_list = order, small, (None, 0), False
        self.referred = referred(module, element)

    def number(self, module, field, format):
        """A random number for a field, which may be part of an enumeration or a mask."""
        size = struct.calcsize(FORMATS[format])
        name, low, high = field.get("name"), 0, (1 << 8 * size) - 1
        if name == self.length[0]:
            number, self.length = self.length[1], (None, 0)
            R.randint(low, high)
            return number
        if FORMATS[format] == "f":
            return struct.unpack("<f", struct.pack("<f", R.uniform(-10, 10)))[0]
        if FORMATS[format] == "d":
            return R.uniform(-1e6, 1e6)
        if FORMATS[format].islower():
            low, high = -(high + 1) // 2, high // 2
        if name in self.referred:
            wanted = [value(of, one, []) for of, switch in self.referred[name] for case in switch for one in case
                      if one.tag == "enumref"]
            wanted = [one for one in wanted if low <= one <= high]
            if wanted and any(switch.find("bitcase") is not None for _, switch in self.referred[name]):
                chosen = 0
                for one in wanted:
                    chosen |= one if R.random() < 0.5 else 0
                return chosen
            if wanted:
                return R.choice(wanted)
            if name == "format":
                return R.choice([8, 16, 32])
            return R.randint(0, 1 if format == "BOOL" else 3) * (4 if name == "length" else 1)
        if format == "BOOL":
            # Those of lists are not shown as numbers.
            return R.choice([0, 1] if self.in_list else [0, 1, 0, 1, 2, 255])
        if name == "format" and format == "CARD8":
            return R.choice([8, 16, 32])
        listed = field.get("enum") or field.get("altenum")
        mask = field.get("mask") or field.get("altmask")
        if (listed or mask) and R.random() < 0.9:
            known = [one for one in find(module, listed or mask, "enums")[1] if low <= one <= high]
            if mask:
                return sum(one for one in known if bin(one).count("1") == 1 and R.random() < 0.4)
            return R.choice(known or [0])
        return R.randint(max(low, 0), 3) if self.small else R.randint(low, high)

    def pack(self, format, number):
        return struct.pack(self.order + FORMATS[format], number)

    def one(self, module, field, scopes):
        """A value of a field's type: bytes, raw value, expectation."""
        of, layout = resolve(module, field.get("type"))
        if isinstance(layout, str):
            number = self.number(module, field, layout)
            names = {kind: field.get(kind) or field.get("alt" + kind) for kind in ("enum", "mask")}
            listed = {kind: find(module, name, "enums")[1] for kind, name in names.items() if name}
            # XI2's positions are shown in pixels.
            shown = number / 65536 if field.get("type") == "FP1616" else number
            return self.pack(layout, number), number, Number(number=shown, of=layout, **listed)
        if layout.tag == "struct":
            raw, shown, state = {}, {}, R.getstate()
            made = self.members(of, parts(layout), scopes + [raw], raw, shown, 0)
            for length in layout.iterfind("length//fieldref"):
                # The same structure again, with its length in it.
                R.setstate(state)
                self.length = (length.text, len(made) // 4)
                raw, shown = {}, {}
                made = self.members(of, parts(layout), scopes + [raw], raw, shown, 0)
            return made, raw, shown
        if layout.tag == "eventstruct":
            made = bytes([R.choice([2, 4, 6, 12])]) + R.randbytes(31)
            return made, {}, None
        choices = [self.members(of, [part], scopes, {}, {}, 0) for part in parts(layout) if part.tag != "pad"]
        return max(choices, key=len), {}, None

    def members(self, module, elements, scopes, raw, shown, start):
        """The bytes of consecutive parts at the offset `start`."""
        made = b""
        for part in elements:
            name = part.get("name")
            if part.tag == "pad":
                made += bytes(int(part.get("bytes") or -(start + len(made)) % int(part.get("align") or 1)))
            elif part.tag == "field":
                bytes_, raw[name], shown[name] = self.one(module, part, scopes)
                made += bytes_
            elif part.tag == "exprfield":
                raw[name] = int(value(module, operand(part), scopes))
                made += self.pack(resolve(module, part.get("type"))[1], raw[name])
                shown[name] = None
            elif part.tag == "list" and part.get("type") != "fd":
                self.in_list = True
                made += self.list(module, part, scopes, raw, shown)
            elif part.tag == "switch":
                self.in_list = True
                chosen = value(module, operand(part), scopes)
                shown[name] = {}
                for case in part:
                    wanted = [value(module, one, scopes) for one in case if one.tag == "enumref"]
                    if case.tag == "bitcase" and any(chosen & one for one in wanted) or case.tag == "case" and chosen in wanted:
                        inner, within = {}, shown[name]
                        if case.get("name"):
                            within = shown[name].setdefault(case.get("name"), {})
                        made += self.members(module, parts(case), scopes + [inner], inner, within, start + len(made))
                        raw.update({} if case.get("name") else inner)
        return made

    def list(self, module, part, scopes, raw, shown):
        count, name = operand(part), part.get("name")
        # The padding after a list to the end would be part of the list.
        length = 4 * R.randint(0, 2) if count is None else value(module, count, scopes)
        if not 0 <= length <= 300:
            raise Unfit
        of, layout = resolve(module, part.get("type"))
        elements, made = [], b""
        raw[name], raw[name + "_len"] = [], length
        units = [scope["format"] // 8 for scope in scopes if isinstance(scope.get("format"), int)]
        if part.get("type") == "void" and units:
            # The core protocol's are shown in the order of this machine.
            numbers = [R.randbytes(units[0]) for _ in range(length // units[0])]
            turn = -1 if self.order != NATIVE and not module.extension else 1
            made, elements = b"".join(one[::turn] for one in numbers), [Number(number=one) for one in b"".join(numbers)]
            length = 0
        for _ in range(length):
            if layout == "char":
                one = R.randint(32, 126)
                bytes_, value_, expected = bytes([one]), one, Number(number=one)
            else:
                bytes_, value_, expected = self.one(module, part, scopes)
            made += bytes_
            raw[name].append(value_)
            elements.append(expected)
        shown[name] = elements
        return made


def message(module, element, order, head, fixed=None, tries=60):
    """A message's first byte of contents, the contents after the head, and the expectation."""
    elements = parts(element)
    for attempt in range(tries):
        maker = Maker(module, element, order, small=attempt > 2)
        length = R.randint(0, 8) if attempt else 0
        raw, shown = {"length": length}, {}
        fixed_here = dict(fixed or {})
        try:
            first, rest = b"\0", elements
            if head != 10 and not (head == 4 and element.tag == "request" and module.extension) and elements \
                    and elements[0].tag in ("field", "pad", "exprfield") and element.get("no-sequence-number") != "true":
                # An exprfield depends on the length of a later list.
                if elements[0].tag == "exprfield":
                    contents = maker.members(module, elements[1:], [raw], raw, shown, head)
                    first = maker.members(module, elements[:1], [raw], raw, shown, 1)
                    return first[0], contents, shown, maker
                first = maker.members(module, elements[:1], [raw], raw, shown, 1) or b"\0"
                rest = elements[1:]
            contents = maker.members(module, rest, [raw], raw, shown, head)
        except (Unfit, struct.error, StopIteration):
            continue
        contents += bytes(-(head + len(contents)) % 4)
        real = max(0, head + len(contents) - 32) // 4
        if real != length and any(one.text == "length" for part in elements for one in part.iter("fieldref")):
            continue
        return first[0], contents, shown, maker
    UNFIT.append(elements[-1].get("name"))
    return 0, b"", None, None


class Connection:
    """A client's messages in one byte order."""

    def __init__(self, number, order, extensions):
        self.number, self.order, self.extensions = number, order, extensions
        self.sequence, self.messages, self.expected = 0, [], []

    def pack(self, format, *numbers):
        return struct.pack(self.order + format, *numbers)

    def send(self, direction, made, expected=None):
        self.messages.append((self.number, direction, made))
        self.expected.append(expected)

    def setup(self):
        self.send("to-server", self.pack("BBHHHHH", 0x6C if self.order == "<" else 0x42, 0, 11, 0, 0, 0, 0))
        formats = b"".join(struct.pack("BBB5x", depth, bits, 32) for depth, bits in ((1, 1), (24, 32), (32, 32)))
        screen = self.pack("IIIIIHHHHHHIBBBB", 0x50D, 0x20, 0xFFFFFF, 0, 0, 1280, 1024, 300, 300, 1, 1, 0x21, 0, 0, 24, 1)
        screen += self.pack("BBHI", 24, 0, 1, 0) + self.pack("IBBHIIII", 0x21, 4, 8, 256, 0xFF0000, 0xFF00, 0xFF, 0)
        image = 0 if self.order == "<" else 1
        rest = self.pack("IIIIHHBBBBBBBBI", 12101007, 0x200000 * self.number, 0x1FFFFF, 256, 4, 65535, 1, 3, image, image,
                         32, 32, 8, 255, 0) + b"Test" + formats + screen
        self.send("to-client", self.pack("BBHHH", 1, 0, 11, 0, len(rest) // 4) + rest)

    def all(self, module, extension):
        major = extension["major"] if extension else 0
        prefix = module.extension + ":" if module.extension else ""
        for opcode, element in sorted(module.requests.items()):
            name = prefix + element.get("name")
            first, contents, shown, maker = message(module, element, self.order, 4)
            if name == "SendEvent" and self.order != NATIVE:
                # The event is shown in the order of this machine.
                shown["event"] = None
            self.sequence += 1
            units = 1 + len(contents) // 4
            head = (major, opcode) if extension else (opcode, first)
            if module.extension != "BIG-REQUESTS" and R.random() < 0.1:
                made = self.pack("BBHI", *head, 0, units + 1) + contents
            else:
                made = self.pack("BBH", *head, units) + contents
            self.send("to-server", made, ("request", name, shown, maker))
            for reply in element.findall("reply"):
                self.reply(module, element, reply, name)
        first_event = extension["first_event"] if extension else 0
        for number, (name, element) in sorted(module.events.items()):
            first, contents, shown, maker = message(module, element, self.order, 4)
            code = first_event + number
            if module.extension == "XKEYBOARD":
                code, first = first_event, number
                shown["xkbType"] = Number(number=number)
            if element.get("no-sequence-number") == "true":
                made = bytes([code]) + contents
            else:
                made = self.pack("BBH", code, first, self.sequence & 0xFFFF) + contents
            self.send("to-client", (made + bytes(32))[:32], ("event", prefix + name, shown, maker))
        for number, (name, element) in sorted(module.generic.items()):
            _, contents, shown, maker = message(module, element, self.order, 10)
            made = self.pack("BBHIH", 35, major, self.sequence & 0xFFFF, 0, number) + contents
            made += bytes(max(0, 32 - len(made)))
            made = made[:4] + self.pack("I", (len(made) - 32) // 4) + made[8:]
            self.send("to-client", made, ("event", prefix + name, shown, maker))
        for number, name in sorted(module.errors.items()):
            code = number + (extension["first_error"] if extension else 0)
            # GLX has an error -1, which no server sends.
            if number >= 0 and code:
                bad, minor, of = R.randrange(1 << 32), R.randrange(100), R.randrange(1, 127)
                made = self.pack("BBHIHB", 0, code, self.sequence & 0xFFFF, bad, minor, of) + bytes(21)
                shown = dict(bad_value=Number(number=bad), minor_opcode=Number(number=minor), major_opcode=Number(number=of))
                self.send("to-client", made, ("error", prefix + name, shown, None))

    def reply(self, module, element, reply, name):
        first, contents, shown, maker = message(module, reply, self.order, 8)
        if name == "QueryExtension":
            contents, shown["present"]["number"] = bytes(24), 0
            shown.update({key: Number(number=0) for key in shown if key != "present"})
        made = self.pack("BBHI", 1, first, self.sequence & 0xFFFF, 0) + contents
        made += bytes(max(0, 32 - len(made)))
        made = made[:4] + self.pack("I", (len(made) - 32) // 4) + made[8:]
        self.send("to-client", made, ("reply", name, shown, maker))


def plain(name):
    """A name without case and separators. In Rust, a letter comes before a number."""
    return re.sub("^m(?=[0-9]+$)", "", re.sub("[^a-z0-9]", "", name.lower()))


def alike(name, kind):
    """A message's name. Xlib's names of errors have a prefix."""
    prefix, _, name = name.rpartition(":")
    name = {"Colormap": "Color", "GContext": "GC"}.get(name, name)
    return plain(prefix), re.sub("^(glx)?(bad)?", "", plain(name)) if kind == "error" else plain(name)


def number_of(expected, got):
    """True if the dump shows this number, by one of its names if it has any."""
    number = expected["number"]
    if expected.get("of") == "BOOL" and isinstance(got, bool):
        return number in (0, 1) and got == bool(number)
    if isinstance(got, bool):
        return False
    if isinstance(got, float) or isinstance(number, float):
        return isinstance(got, (int, float)) and abs(got - number) <= 1e-5 * max(1, abs(number))
    if isinstance(got, int):
        return got == number
    if not isinstance(got, str):
        return False
    if re.fullmatch("-?[0-9]+", got):
        return int(got) == number
    if "enum" in expected and plain(got) in [plain(name) for name, _ in expected["enum"].get(number, [])]:
        return True
    bits = expected.get("mask") or expected.get("enum") or {}
    left = number
    for word in got.split("|"):
        names = {plain(name) for name in word.split("/")}
        found = [bit for bit, all in bits.items() if names == {plain(name) for name, _ in all}]
        if word.strip().isdigit():
            found = [int(word)]
        if not found:
            return False
        left &= ~found[0]
    return left == 0


def flat(fields, found):
    """The values of nested fields by name, which decoders group differently."""
    for name, one in fields.items():
        if isinstance(one, dict) and not isinstance(one, Number) and set(one) != {"hi", "lo"}:
            flat(one, found)
        elif one is not None:
            found.setdefault(plain(name), []).append(one)
    return found


def differences(expected, got, path, free):
    """The differences between the expected and the shown value. The names in `free` may be missing."""
    if expected is None:
        return
    if isinstance(expected, list):
        if isinstance(got, str):
            got = list(got.encode("latin-1", "replace"))
        if isinstance(got, list) and got and len(got) < len(expected) and len(expected) % len(got) == 0:
            # A property's data are shown in its units.
            units = len(expected) // len(got)
            got = list(b"".join(one.to_bytes(units, sys.byteorder) for one in got))
        if not isinstance(got, list) or len(got) != len(expected):
            yield f"{path}: {short(expected)} {short(got)}"
            return
        for at, (one, shown) in enumerate(zip(expected, got)):
            yield from differences(one, shown, f"{path}.{at}", free)
    elif isinstance(expected, Number):
        if not number_of(expected, got):
            yield f"{path}: {short(expected)} {short(got)}"
    elif isinstance(got, int) and set(expected) == {"hi", "lo"}:
        if (expected["hi"]["number"] << 32 | expected["lo"]["number"]) != got:
            yield f"{path}: {short(expected)} {short(got)}"
    elif isinstance(got, dict):
        wanted = {plain(name): one for name, one in expected.items()}
        shown = {plain(name): one for name, one in got.items()}
        if wanted.keys() - shown.keys() - free:
            wanted, shown = flat(expected, {}), flat(got, {})
            for name in wanted.keys() & shown.keys():
                # Equal names in several structures.
                of = [next((one for one in shown[name] if not any(differences(number, one, "", free))), None)
                      for number in wanted[name]]
                shown[name] = of if None not in of and len(of) == len(shown[name]) else shown[name]
        for name in sorted(wanted.keys() | shown.keys()):
            if name not in wanted:
                yield f"{path}.{name}: not described, {short(shown[name])}"
            elif name in shown:
                yield from differences(wanted[name], shown[name], f"{path}.{name}", free)
            elif name not in free and wanted[name] is not None:
                yield f"{path}.{name}: {short(wanted[name])} missing"
    elif len(expected) == 1:
        yield from differences(next(iter(expected.values())), got, path, free)
    elif expected:
        yield f"{path}: {short(expected)} {short(got)}"


def short(one):
    if isinstance(one, dict):
        one = one.get("number", {name: short(inner) for name, inner in one.items()})
    return str(one)[:150]


MODULES, UNFIT = {}, []
for path in sorted(glob.glob(sys.argv[2] + "/*.xml")):
    module = Module(path)
    MODULES[module.name] = module
for module in MODULES.values():
    module.copies()
extensions, event, error = [], 64, 128
for module in MODULES.values():
    if module.extension and module.extension not in LEFT_OUT:
        extensions.append(dict(name=module.extension, major=128 + len(extensions), first_event=event, first_error=error))
        event += 1 if module.extension == "XKEYBOARD" else max(module.events, default=-1) + 1
        error += max(module.errors, default=-1) + 1
connections = [Connection(1, "<", extensions), Connection(2, ">", extensions)]
for connection in connections:
    connection.setup()
    # From its first request on, the client may send longer ones.
    for module in sorted(MODULES.values(), key=lambda module: module.extension != "BIG-REQUESTS"):
        if module.extension in LEFT_OUT:
            continue
        connection.all(module, next((one for one in extensions if one["name"] == module.extension), None))

# The descriptions of GLX VendorPrivateWithReply and XvMC CreateContext have the data four bytes late.
assert set(UNFIT) == {"data2", "priv_data"}, UNFIT

if sys.argv[1] == "make":
    print(json.dumps(extensions))
    for number, direction, made in (one for connection in connections for one in connection.messages):
        print(number, direction, made.hex())
else:
    shown = {(number, direction): [] for number in (1, 2) for direction in ("to-server", "to-client")}
    for line in sys.stdin:
        line = json.loads(line)
        if line["kind"] not in ("control", "setup", "setup-accepted", "lost"):
            shown[line["connection"], line["direction"]].append(line)
    counts = dict(compared=0, undecoded=0)
    for connection in connections:
        for (number, direction, _), expected in zip(connection.messages, connection.expected):
            if expected is None:
                continue
            kind, name, fields, maker = expected
            rest = shown[number, direction]
            line = rest.pop(0) if rest else dict(kind="nothing", name="", fields={}, undecoded=None)
            where = f"{number} {kind} {name}"
            if line["kind"] != kind or alike(line["name"], kind) != alike(name, kind):
                print(f"{where}: {line['kind']} {line['name']}")
            elif fields is None:
                continue
            elif line["undecoded"] is not None:
                counts["undecoded"] += 1
                # The layout of an extension's message may depend on its contents, and is then known in one order.
                if connection.order == NATIVE:
                    print(f"{where}: undecoded: {line['undecoded']}")
            else:
                counts["compared"] += 1
                free = {plain(one) for one in maker.referred} if maker else set()
                for one in differences(fields, line["fields"], where, free):
                    print(one)
        for direction in ("to-server", "to-client"):
            for line in shown[connection.number, direction]:
                print(f"{connection.number} {direction}: more: {line['name']}")
    print(counts["compared"], "compared,", counts["undecoded"], "undecoded", file=sys.stderr)
