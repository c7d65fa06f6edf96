using Google.Protobuf.Reflection;
using Google.Protobuf;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;
using RpcOverShm.Tool.Tests.Protos;

namespace RpcOverShm.Tool.Tests.Reflection;

/// <summary>The files that a server describes, in any order, whole or not.</summary>
public class SchemaTests
{
    [Test]
    public void Add_OfAFileWithoutItsImport_NamesThatImport()
    {
        var schema = new Schema();

        Assert.That(
            schema.Add([UsesOthersReflection.Descriptor.SerializedData]), Is.EqualTo(new[] { "attachments.proto" }));
        Assert.That(schema.Add([AttachmentsReflection.Descriptor.SerializedData]), Is.Empty);
        schema.Build();
        Assert.That(
            schema.FindMessage("rpcovershm.tool.test.UsesOthers")?.Fields[1].MessageType.Name,
            Is.EqualTo("Attachment"));
    }

    [Test]
    public void Add_OfAFileThatImportsGooglesOwn_KnowsThem()
    {
        var schema = new Schema();

        Assert.That(schema.Add([NotesReflection.Descriptor.SerializedData]), Is.Empty);
        schema.Build();

        Assert.That(schema.FindMessage("google.protobuf.Any"), Is.Not.Null);
        Assert.That(schema.Find("rpcovershm.tool.test.Notes"), Is.InstanceOf<ServiceDescriptor>());
        Assert.That(schema.Find("rpcovershm.tool.test.Notes.Add"), Is.InstanceOf<MethodDescriptor>());
        Assert.That(schema.Find("rpcovershm.tool.test.Note.Importance"), Is.InstanceOf<EnumDescriptor>());
    }

    [Test]
    public void FindMessage_InVain_IsNoted()
    {
        var schema = new Schema();

        Assert.That(schema.FindMessage("no.Such"), Is.Null);
        Assert.That(schema.Missed, Is.EqualTo(new[] { "no.Such" }));
    }

    [Test]
    public void Build_OfAFileThatNamesAnUnknownType_Fails()
    {
        var file = new FileDescriptorProto
        {
            Name = "bad.proto",
            MessageType =
            {
                new DescriptorProto
                {
                    Name = "Bad",
                    Field =
                    {
                        new FieldDescriptorProto
                        {
                            Name = "gone",
                            Number = 1,
                            Label = FieldDescriptorProto.Types.Label.Optional,
                            Type = FieldDescriptorProto.Types.Type.Message,
                            TypeName = ".no.Such",
                        },
                    },
                },
            },
        };
        var schema = new Schema();
        schema.Add([file.ToByteString()]);

        Assert.That(
            schema.Build,
            Throws.TypeOf<ToolException>().With.Message.Contains("The descriptors of the server are unusable")
                .And.Message.Contains("no.Such"));
    }

    [Test]
    public void Build_OfAnEntryThatContainsItself_IsRefused()
    {
        var type = new DescriptorProto { Name = "Loop", Options = new MessageOptions { MapEntry = true } };
        type.Field.Add(Field("key", 1, FieldDescriptorProto.Types.Type.String, ""));
        type.Field.Add(Field("value", 2, FieldDescriptorProto.Types.Type.Message, ".Loop"));

        var file = new FileDescriptorProto { Name = "loop.proto", MessageType = { type } };
        Assert.That(Refusal(file), Does.Contain("Loop"));
    }

    [Test]
    public void Build_OfAnEntryWithoutValue_IsRefused()
    {
        var type = new DescriptorProto { Name = "Half", Options = new MessageOptions { MapEntry = true } };
        type.Field.Add(Field("key", 1, FieldDescriptorProto.Types.Type.String, ""));

        var file = new FileDescriptorProto { Name = "half.proto", MessageType = { type } };
        Assert.That(Refusal(file), Does.Contain("Half"));
    }

    [Test]
    public void Add_OfAKnownFileWithOtherContents_KeepsTheKnownOne()
    {
        var schema = new Schema();
        schema.Add([new FileDescriptorProto { Name = "google/protobuf/wrappers.proto" }.ToByteString()]);
        schema.Build();

        Assert.That(schema.FindMessage("google.protobuf.StringValue"), Is.Not.Null);
    }

    [Test]
    public void Add_OfBytesThatAreNoDescriptor_IsRefused() => Assert.That(
        () => new Schema().Add([ByteString.CopyFrom(255, 255, 255)]),
        Throws.TypeOf<ToolException>().With.Message.Contains("unusable"));

    [Test]
    public void Add_OfAPackageWithThousandsOfParts_IsRefused()
    {
        string package = string.Join('.', Enumerable.Repeat("a", 100_000));

        Assert.That(
            Refusal(new FileDescriptorProto { Name = "deep.proto", Package = package }), Does.Contain("a package has"));
    }

    [Test]
    public void Add_OfFilesWithoutEnd_IsRefused()
    {
        var schema = new Schema();
        Assert.That(
            () =>
            {
                for (int i = 0; i < 100_000; i += 500)
                {
                    schema.Add(Enumerable.Range(i, 500).Select(
                        number => new FileDescriptorProto { Name = $"{number}.proto" }.ToByteString()));
                }
            },
            Throws.TypeOf<ToolException>().With.Message.Contains("at most"));
    }

    private static FieldDescriptorProto Field(
        string name, int number, FieldDescriptorProto.Types.Type type, string typeName) => new()
        {
            Name = name,
            Number = number,
            Type = type,
            TypeName = typeName,
            Label = FieldDescriptorProto.Types.Label.Optional,
        };

    private static string Refusal(FileDescriptorProto file)
    {
        var schema = new Schema();
        return Assert.Throws<ToolException>(() =>
        {
            schema.Add([file.ToByteString()]);
            schema.Build();
        })!.Message;
    }
}
