// The same as msgpack_echo.py, with @msgpack/msgpack. Its maps are objects, whose keys are strings: so the kind of each
// key is kept in front of it, and the headers of maps and arrays are written here, everything in them by the package.
const { decode, encode } = require("@msgpack/msgpack");
const readline = require("readline");

const options = { useBigInt64: true, mapKeyConverter: (key) => `${typeof key}:${key}` };

function keyOf(tagged) {
  const [kind, text] = [tagged.slice(0, tagged.indexOf(":")), tagged.slice(tagged.indexOf(":") + 1)];
  switch (kind) {
    case "number": return Number(text);
    case "bigint": return BigInt(text);
    case "boolean": return text === "true";
    default: return text;
  }
}

function describeNumber(value) {
  if (Number.isNaN(value)) {
    return "nan";
  }
  if (Number.isSafeInteger(value)) {
    return String(value);
  }
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return "f" + bytes.toString("hex");
}

function describe(value) {
  if (value === null) {
    return "nil";
  }
  if (typeof value === "number") {
    return describeNumber(value);
  }
  if (typeof value === "string") {
    return "s" + Buffer.from(value).toString("hex");
  }
  if (value instanceof Uint8Array) {
    return "b" + Buffer.from(value).toString("hex");
  }
  if (Array.isArray(value)) {
    return "[" + value.map(describe).join() + "]";
  }
  if (typeof value === "object") {
    return "{" + Object.entries(value).map(([k, v]) => describe(keyOf(k)) + ":" + describe(v)).join() + "}";
  }
  return String(value);
}

function header(count, fixed, code16) {
  if (count < 16) {
    return Buffer.from([fixed + count]);
  }
  const bytes = Buffer.alloc(5);
  bytes[0] = code16 + 1;
  bytes.writeUInt32BE(count, 1);
  return bytes;
}

function write(value) {
  if (Array.isArray(value)) {
    return Buffer.concat([header(value.length, 0x90, 0xdc), ...value.map(write)]);
  }
  if (value !== null && typeof value === "object" && !(value instanceof Uint8Array)) {
    const entries = Object.entries(value);
    return Buffer.concat([
      header(entries.length, 0x80, 0xde), ...entries.flatMap(([k, v]) => [write(keyOf(k)), write(v)])]);
  }
  return Buffer.from(encode(value, { useBigInt64: true }));
}

console.log("ready " + process.version);
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  try {
    const read = decode(Buffer.from(line, "hex"), options);
    console.log(describe(read) + " " + write(read).toString("hex"));
  } catch (failure) {
    console.log("error " + String(failure).replaceAll("\n", " "));
  }
});
