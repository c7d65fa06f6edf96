using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Messages with a value in every field.</summary>
internal static class Samples
{
    public static Scalars Scalars => new()
    {
        F64 = 1.5,
        F32 = -2.5f,
        I32 = -5,
        I64 = long.MinValue,
        U32 = 70_000,
        U64 = ulong.MaxValue,
        S32 = -129,
        S64 = 40_000,
        Fx32 = 1,
        Fx64 = 1uL << 40,
        Sfx32 = -1,
        Sfx64 = -70_000,
        Flag = true,
        Text = "text, and so on: é€😀",
        Raw = ByteString.CopyFrom(1, 2, 3),
        Colour = Colour.Dark,
    };

    public static Everything Everything => new()
    {
        Scalars = Scalars,
        Optionals = new Optionals
        {
            F64 = 0,
            F32 = 0,
            I32 = 0,
            I64 = 1,
            U32 = 0,
            U64 = 2,
            S32 = 0,
            S64 = 0,
            Fx32 = 3,
            Fx64 = 0,
            Sfx32 = 0,
            Sfx64 = 0,
            Flag = false,
            Text = "",
            Raw = ByteString.Empty,
            Colour = Colour.None,
            Message = new Scalars(),
        },
        Lists = new Lists
        {
            F64 = { 0, 1 },
            F32 = { 0.5f },
            I32 = { 1, -1, 1000 },
            I64 = { 0, long.MaxValue },
            U32 = { 1 },
            U64 = { 1uL << 63 },
            S32 = { -1 },
            S64 = { -40 },
            Fx32 = { 9 },
            Fx64 = { 9 },
            Sfx32 = { -9 },
            Sfx64 = { 9 },
            Flag = { true, false },
            Text = { "", "a", new string('x', 40) },
            Raw = { ByteString.Empty, ByteString.CopyFrom(5) },
            Colour = { Colour.Red, Colour.Far },
            Message = { Scalars, new Scalars() },
            Wrapped = { 0, 5 },
            WrappedText = { "", "w" },
        },
        Maps = new Maps
        {
            I32 = { [-1] = 1 },
            I64 = { [1] = 1 },
            U32 = { [1] = -1 },
            U64 = { [ulong.MaxValue] = 1 },
            S32 = { [1] = 1 },
            S64 = { [-70_000] = 1 },
            Fx32 = { [1] = 1 },
            Fx64 = { [1] = 1 },
            Sfx32 = { [1] = 1 },
            Sfx64 = { [1] = 1 },
            Flag = { [true] = 1, [false] = 0 },
            Text = { ["k"] = 1 },
            Flags = { ["f"] = true },
            Texts = { ["a"] = "b", [""] = "" },
            Raws = { ["r"] = ByteString.CopyFrom(1) },
            Colours = { ["c"] = Colour.Red },
            Messages = { [1] = Scalars },
            WrappedTexts = { ["w"] = "x" },
            Wrapped = { ["w"] = 5 },
        },
        Choice = new Choice { Before = 1, Message = Scalars, Behind = 2, Two = new Choice { Wrapped = 7, One = 0 } },
        Node = new Node
        {
            Name = "root",
            Next = new Node { Name = "next", Leaf = Scalars },
            Children = { new Node(), new Node { Weight = 5 } },
            ByName = { ["x"] = new Node { Name = "x" } },
            Weight = 0,
        },
        WellKnown = WellKnown,
        Sparse = new Sparse { One = 1, LargestFixint = 2, SmallestUint8 = 3, SmallestUint32 = 4, Largest = { "l" } },
        Nothing = new Nothing(),
    };

    private static WellKnown WellKnown => new()
    {
        Timestamp = new Timestamp { Seconds = 1_700_000_000, Nanos = 5 },
        Duration = new Duration { Seconds = -5, Nanos = -1 },
        Any = Any.Pack(new Scalars { I32 = 5 }),
        Structure = Struct.Parser.ParseJson("""{"a":null,"b":[1,"x",{"c":false}],"d":1.5}"""),
        Value = Value.ForString("v"),
        List = new ListValue { Values = { Value.ForNumber(0), Value.ForNull() } },
        Mask = new FieldMask { Paths = { "a", "b.c" } },
        Empty = new Empty(),
        F64 = 1.5,
        F32 = 0,
        I64 = -1,
        U64 = ulong.MaxValue,
        I32 = 0,
        U32 = 5,
        Flag = false,
        Text = "",
        Raw = ByteString.Empty,
    };
}
