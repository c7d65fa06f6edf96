using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Reflection;
using RpcOverShm.Tool.Tests.Protos;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>The tests' types without their classes: built from bytes, as reflection gives them.</summary>
internal static class DynamicTypes
{
    public static Schema Schema { get; } = Build();

    /// <summary>Returns the type that describes the messages of a class, but does not know that class.</summary>
    public static MessageDescriptor Of(MessageDescriptor generated) => Schema.FindMessage(generated.FullName)!;

    private static Schema Build()
    {
        var schema = new Schema();
        IReadOnlyList<string> missing = schema.Add(new[]
        {
            NotesReflection.Descriptor, Kinds3Reflection.Descriptor, Kinds2Reflection.Descriptor,
            AttachmentsReflection.Descriptor,
        }.Select(file => ByteString.CopyFrom(file.SerializedData.Span)));
        Assert.That(missing, Is.Empty);
        schema.Build();
        return schema;
    }
}
