using System.Buffers;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>
/// Serialisers that break the rules, each with the exception expected here and in Grpc.Core; null if Grpc.Core
/// accepts the message.
/// </summary>
internal static class LyingSerializers
{
    /// <summary>Steps that are taken in the wrong order, repeatedly or not at all.</summary>
    public static IEnumerable<TestCaseData> OfTheOrder =>
    [
        Case(
            "Z2_Throws",
            static (_, _) => throw new FormatException("no"),
            typeof(FormatException),
            typeof(FormatException)),
        Case("Z2_NeverCompletes", core: typeof(NullReferenceException), serialize: static (_, _) => { }),
        Case(
            "Z2_WritesAndNeverCompletes",
            core: typeof(NullReferenceException),
            serialize: static (m, c) => c.GetBufferWriter().Write(m)),
        Case("Z2_CompletesBeforeTheWriter", core: null, serialize: static (_, c) => c.Complete()),
        Case("Z2_CompletesTwiceWithArrays", static (m, c) =>
        {
            c.Complete(m);
            c.Complete(m);
        }),
        Case("Z2_CompletesTwiceAfterTheWriter", static (m, c) =>
        {
            c.GetBufferWriter().Write(m);
            c.Complete();
            c.Complete();
        }),
        Case("Z2_CompletesWithAnArrayAfterTheWriter", core: null, serialize: static (m, c) =>
        {
            c.GetBufferWriter().Write(m);
            c.Complete(m);
        }),
        Case("Z2_AsksForTheWriterAfterCompleting", static (m, c) =>
        {
            c.Complete(m);
            c.GetBufferWriter();
        }),
        Case(
            "Z2_CompletesWithNull",
            static (_, c) => c.Complete(null!),
            typeof(ArgumentNullException),
            typeof(NullReferenceException)),
        Case("Z3_SaysTheLengthAfterTheWriter", core: null, serialize: static (m, c) =>
        {
            c.GetBufferWriter().Write(m);
            c.SetPayloadLength(m.Length);
            c.Complete();
        }),
        Case("Z3_SaysTheLengthAfterCompleting", core: null, serialize: static (m, c) =>
        {
            c.Complete(m);
            c.SetPayloadLength(m.Length);
        }),
    ];

    /// <summary>Announced lengths that differ from the bytes written.</summary>
    public static IEnumerable<TestCaseData> OfTheLength =>
    [
        Case(
            "Z4_SaysANegativeLength",
            static (m, c) =>
            {
                c.SetPayloadLength(-1);
                c.Complete(m);
            },
            typeof(ArgumentOutOfRangeException),
            core: null),
        Case("Z4_WritesFewerBytesThanItSays", core: null, serialize: static (m, c) => Write(m, c, m.Length + 5)),
        Case("Z4_WritesMoreBytesThanItSays", core: null, serialize: static (m, c) => Write(m, c, m.Length - 2)),
        Case("Z4_WritesFewerBytesThanItSaysAtOnce", core: null, serialize: static (m, c) =>
        {
            c.SetPayloadLength(m.Length + 5);
            c.Complete(m);
        }),
        Case("Z4_WritesFarFewerBytesThanItSays", core: null, serialize: static (m, c) => Write(m, c, 1 << 20)),
    ];

    private static void Write(byte[] message, SerializationContext context, int said)
    {
        context.SetPayloadLength(said);
        context.GetBufferWriter().Write(message);
        context.Complete();
    }

    private static TestCaseData Case(string name, Action<byte[], SerializationContext> serialize) =>
        Case(name, serialize, typeof(InvalidOperationException), typeof(InvalidOperationException));

    private static TestCaseData Case(string name, Type? core, Action<byte[], SerializationContext> serialize) =>
        Case(name, serialize, typeof(InvalidOperationException), core);

    private static TestCaseData Case(
        string name, Action<byte[], SerializationContext> serialize, Type here, Type? core) =>
        new(serialize, here, core) { TestName = name };
}
