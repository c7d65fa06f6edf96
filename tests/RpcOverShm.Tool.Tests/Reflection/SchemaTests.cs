using Google.Protobuf;
using Google.Protobuf.Reflection;
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
}
