"""Reads MessagePack with python3-msgpack, says what it is, and writes it again. Ends with its standard input.

One line in, one line out: hexadecimal digits; a description, a blank, and hexadecimal digits. What can't be read is
"error" and why. The first line out is "ready". Numbers that are whole are described alike whatever their form was, as
JavaScript can't tell them apart.
"""
import math
import struct
import sys

import msgpack


def describe(value):
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return "f" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "s" + value.encode().hex()
    if isinstance(value, bytes):
        return "b" + value.hex()
    if isinstance(value, list):
        return "[" + ",".join(describe(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(describe(k) + ":" + describe(v) for k, v in value.items()) + "}"
    raise TypeError(type(value).__name__)


print("ready", msgpack.version, flush=True)
for line in sys.stdin:
    try:
        read = msgpack.unpackb(bytes.fromhex(line), raw=False, strict_map_key=False)
        answer = describe(read) + " " + msgpack.packb(read, use_bin_type=True).hex()
    except Exception as failure:  # The test is told, whatever it was.
        answer = "error " + repr(failure).replace("\n", " ")
    print(answer, flush=True)
