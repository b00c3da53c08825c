"""The id fields of `src/id_fields/table.txt` compared with xcb-proto's descriptions of the requests. Prints each
difference: extension, opcode, name, and the fields of the description that the table lacks. Arguments: the folder of
the descriptions, the table."""
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
