"""The id fields of `src/id_fields/table.txt`, the layouts of `src/swap/extension_layouts.txt` and the BOOLs of
`src/fields/bools.txt`, compared with xcb-proto's descriptions. Prints each difference: extension, opcode, name, and the fields
that the first table lacks, or both layouts, or the missing and the wrong lines of BOOLs.
Arguments: the folder of the descriptions, the tables."""
import glob, re, sys
import xml.etree.ElementTree as ET

SIZES = dict(CARD8=1, BYTE=1, BOOL=1, char=1, void=1, INT8=1, CARD16=2, INT16=2, CARD32=4, INT32=4, float=4,
             CARD64=8, INT64=8, double=8, fd=0)
KINDS = dict(ATOM="a", TIMESTAMP="t", VISUALID="v", PICTFORMAT="f")
# A replay leaves these out, or no server of the last ten years has them.
LEFT_OUT = {"DRI2", "RECORD", "SELinux", "XVideo-MotionCompensation", "XpExtension"}

roots = [ET.parse(path).getroot() for path in sorted(glob.glob(sys.argv[1] + "/*.xml"))]
types = {}
for element in (element for root in roots for element in root):
    if element.tag in ("xidtype", "xidunion"):
        types.setdefault(element.get("name"), "id")
    elif element.tag == "typedef":
        types.setdefault(element.get("newname"), element.get("oldname"))
    elif element.tag == "struct":
        types.setdefault(element.get("name"), element)


def kind(name):
    name = name.split(":")[-1]
    if name in KINDS:
        return KINDS[name]
    of = types.get(name)
    return "r" if of == "id" else kind(of) if isinstance(of, str) else None


def size(name):
    """None of a type without a fixed size."""
    name = name.split(":")[-1]
    if name in SIZES:
        return SIZES[name]
    of = types.get(name)
    if of == "id":
        return 4
    if isinstance(of, str):
        return size(of)
    parts = [size(part.get("type")) if part.tag == "field" else int(part.get("bytes") or -1) if part.tag == "pad" else
             None for part in of if part.tag != "doc"] if of is not None else [None]
    return None if None in parts or -1 in parts else sum(parts)


table = {}
for line in open(sys.argv[2]):
    if not line.startswith("#"):
        extension, opcode, _, *fields = line.split()
        table[extension, int(opcode)] = fields
checked = 0
for root in roots:
    extension = root.get("extension-xname", "-")
    if extension in LEFT_OUT:
        continue
    for request in root.findall("request"):
        parts = [part for part in request if part.tag not in ("doc", "reply", "required_start_align")]
        at, wanted = 4, set()
        if extension == "-" and parts and parts[0].tag in ("field", "pad"):
            parts = parts[1:]
        for part in parts:
            if part.tag == "pad" and part.get("bytes"):
                at += int(part.get("bytes"))
            elif part.tag == "field" and size(part.get("type")) is not None:
                if kind(part.get("type")):
                    wanted.add(f"{kind(part.get('type'))}{at}")
                at += size(part.get("type"))
            elif part.tag != "fd":
                if part.tag == "list" and kind(part.get("type")):
                    wanted.add("*")
                break
        fields = table.get((extension, int(request.get("opcode"))), [])
        has = {field if re.fullmatch("[a-z][0-9]+", field) else field[0] for field in fields}
        checked += 1
        if wanted - has:
            print(extension, request.get("opcode"), request.get("name"), *sorted(wanted - has))
print(checked, "requests", file=sys.stderr)


def numbers(parts, at):
    """The numbers longer than a byte in the fixed parts, as (offset, size), and in an element of a list at the end. None if
    the parts are not such."""
    found = []
    for index, part in enumerate(parts):
        name = part.get("type") or "CARD8"
        if part.tag == "pad":
            if not part.get("bytes"):
                return (found, []) if index == len(parts) - 1 else None
            at += int(part.get("bytes"))
        elif part.tag in ("field", "exprfield"):
            if size(name) is None:
                return None
            found += [(at + offset, length) for offset, length in inner(name)]
            at += size(name)
        elif part.tag == "list":
            value = part.find("value")
            if size(name) is None:
                return None
            if value is not None:
                for _ in range(int(value.text)):
                    found += [(at + offset, length) for offset, length in inner(name)]
                    at += size(name)
            elif index == len(parts) - 1 or all(later.tag == "pad" for later in parts[index + 1:]):
                return found, inner(name)
            else:
                return None
        elif part.tag != "fd":
            return None
    return found, []


def inner(name):
    """The numbers longer than a byte in a type of fixed size."""
    name = name.split(":")[-1]
    of = types.get(name)
    if of in (None, "id"):
        length = SIZES.get(name, 4)
        return [(0, length)] if length > 1 else []
    return inner(of) if isinstance(of, str) else numbers([part for part in of if part.tag != "doc"], 0)[0]


def described(layout, at):
    """A layout of the table in the same form."""
    found = []
    for digits in layout.strip("-)").partition("(")[::2]:
        found.append([])
        for size in map(int, digits):
            if size > 1:
                found[-1].append((at, size))
            at += size
        at = 0
    return tuple(found)


layouts = {}
for line in open(sys.argv[3]):
    if not line.startswith("#"):
        extension, form, number, _, layout = line.split()
        layouts[extension, form, int(number)] = layout
compared = 0
for root in roots:
    # Two extensions have a ModeInfo.
    types.update((element.get("name"), element) for element in root if element.tag == "struct")
    for element in root.findall("request") + root.findall("event"):
        number = int(element.get("opcode") or element.get("number"))
        event = ("generic", 10) if element.get("xge") else ("event", 4)
        form, at = ("request", 4) if element.tag == "request" else event
        # A reply and a plain event have a first field in the header.
        messages = [(form, element, at, form == "event")]
        messages += [("reply", reply, 8, True) for reply in element.findall("reply")]
        for form, message, at, has_first in messages:
            layout = layouts.get((root.get("extension-xname"), form, number))
            parts = [part for part in message if part.tag not in ("doc", "reply", "required_start_align")]
            wanted = layout and numbers(parts[has_first:], at)
            compared += bool(wanted)
            if wanted and wanted != described(layout, at):
                print(root.get("extension-xname"), form, number, wanted, described(layout, at))
print(compared, "layouts", file=sys.stderr)


def bools(parts, at, found):
    """Adds the offsets of the BOOLs in the fixed parts, and returns the offset of their end, or None at the first part of
    another kind."""
    for part in parts:
        name = (part.get("type") or "").split(":")[-1]
        count = part.find("value")
        if part.tag == "pad" and part.get("bytes"):
            at += int(part.get("bytes"))
        elif part.tag in ("field", "exprfield") and size(name) is not None:
            if name == "BOOL" and part.tag == "field":
                found.append(at)
            elif isinstance(types.get(name), ET.Element):
                bools([inner for inner in types[name] if inner.tag != "doc"], at, found)
            at += size(name)
        elif part.tag == "list" and count is not None and size(name) is not None:
            at += size(name) * int(count.text)
        elif part.tag != "fd":
            if part.tag == "field" and isinstance(types.get(name), ET.Element):
                # A structure that ends with a list.
                bools([inner for inner in types[name] if inner.tag != "doc"], at, found)
            return


lines = {}
events = {(root.get("header"), element.get("name")): element for root in roots for element in root.findall("event")}
for root in roots:
    types.update((element.get("name"), element) for element in root if element.tag == "struct")
    imports = [root.get("header")] + [element.text.strip() for element in root.findall("import")]
    extension = root.get("extension-xname", "-")
    messages = [("request", element.get("opcode"), element, 4) for element in root.findall("request")]
    messages += [("reply", element.get("opcode"), reply, 8) for element in root.findall("request")
                 for reply in element.findall("reply")]
    for element in root.findall("event") + root.findall("eventcopy"):
        layout = element if element.tag == "event" else next(events[name, element.get("ref")] for name in imports
                                                              if (name, element.get("ref")) in events)
        form, at = ("generic", 10) if layout.get("xge") else ("event", 4)
        messages.append((form, element.get("number"), layout, at))
    for form, number, message, at in messages:
        parts = [part for part in message if part.tag not in ("doc", "reply", "required_start_align")]
        found = []
        if form in ("reply", "event") or form == "request" and extension == "-":
            bools(parts[:1], 1, found)
            parts = parts[1:]
        bools(parts, at, found)
        if found:
            lines.setdefault((extension, form), []).append((int(number), found))
wanted = {f"{extension} {form} " + " ".join(f"{number}:{','.join(map(str, found))}" for number, found in sorted(of))
          for (extension, form), of in lines.items()}
has = {line.strip() for line in open(sys.argv[4]) if not line.startswith("#")}
for line in sorted(wanted ^ has):
    print("missing" if line in wanted else "wrong", line)
print(len(wanted), "bools", file=sys.stderr)
