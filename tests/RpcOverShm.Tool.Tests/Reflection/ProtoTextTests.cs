using RpcOverShm.Tool.Reflection;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Reflection;

/// <summary>Descriptors as the text of a .proto file.</summary>
public class ProtoTextTests
{
    [Test]
    public void Of_AService_HasItsMethods() => Check("rpcovershm.tool.test.Notes", """
        // rpcovershm.tool.test.Notes of notes.proto
        service Notes {
          rpc Add(rpcovershm.tool.test.Note) returns (rpcovershm.tool.test.Note);
          rpc List(rpcovershm.tool.test.ListRequest) returns (stream rpcovershm.tool.test.Note);
          rpc Import(stream rpcovershm.tool.test.Note) returns (rpcovershm.tool.test.Summary);
          rpc Chat(stream rpcovershm.tool.test.Note) returns (stream rpcovershm.tool.test.Note);
          rpc Fail(rpcovershm.tool.test.FailRequest) returns (rpcovershm.tool.test.Note);
          rpc Wait(rpcovershm.tool.test.Note) returns (rpcovershm.tool.test.Note);
          rpc Old(rpcovershm.tool.test.Note) returns (rpcovershm.tool.test.Note) {
            option deprecated = true;
          }
        }

        """);

    [Test]
    public void Of_AMessage_HasItsFieldsOneofsAndTypes() => Check("rpcovershm.tool.test.Note", """
        // rpcovershm.tool.test.Note of notes.proto
        message Note {
          int64 number = 1;
          string text = 2;
          repeated string tags = 3;
          google.protobuf.Timestamp written = 4;
          map<string, string> properties = 5;
          oneof kind {
            bool is_draft = 6;
            rpcovershm.tool.test.Note.Importance importance = 7;
          }
          google.protobuf.Any attachment = 8;
          repeated rpcovershm.tool.test.Note answers = 9;
          enum Importance {
            IMPORTANCE_NONE = 0;
            IMPORTANCE_HIGH = 1;
          }
        }

        """);

    [Test]
    public void Of_AMessageOfProto2_HasLabelsDefaultsGroupsAndRanges() => Check("rpcovershm.tool.test.Singles2", """
        // rpcovershm.tool.test.Singles2 of kinds2.proto
        message Singles2 {
          optional double f64 = 1 [default = 1.5];
          optional float f32 = 2 [default = -inf];
          optional int32 i32 = 3 [default = -3];
          optional int64 i64 = 4;
          optional uint32 u32 = 5;
          optional uint64 u64 = 6 [default = 18446744073709551615];
          optional sint32 s32 = 7;
          optional sint64 s64 = 8;
          optional fixed32 fx32 = 9;
          optional fixed64 fx64 = 10;
          optional sfixed32 sfx32 = 11;
          optional sfixed64 sfx64 = 12;
          optional bool flag = 13 [default = true];
          optional string text = 14 [default = "say \"yes\""];
          optional bytes raw = 15 [default = "\000\377"];
          optional rpcovershm.tool.test.Shade shade = 16 [default = SHADE_DEEP];
          optional rpcovershm.tool.test.Singles2 message = 17;
          optional group Part = 18 {
            optional int32 size = 1;
            repeated string names = 2;
            optional rpcovershm.tool.test.Singles2 inner = 3;
          }
          required int32 needed = 19;
          extensions 100 to 199;
          reserved 30 to 35, 40;
          reserved "gone";
        }

        """);

    [Test]
    public void Of_AnEnum_HasItsAliases() => Check("rpcovershm.tool.test.Colour", """
        // rpcovershm.tool.test.Colour of kinds3.proto
        enum Colour {
          option allow_alias = true;
          COLOUR_NONE = 0;
          COLOUR_RED = 1;
          COLOUR_CRIMSON = 1;
          COLOUR_DARK = -7;
          COLOUR_FAR = 2147483647;
        }

        """);

    [TestCase("rpcovershm.tool.test.Names3.renamed", "int32 renamed = 4 [json_name = \"@another name\"];")]
    [TestCase("rpcovershm.tool.test.Names3.snake_case_name", "int32 snake_case_name = 1;")]
    [TestCase("rpcovershm.tool.test.Optionals3.i32", "optional int32 i32 = 3;")]
    [TestCase("rpcovershm.tool.test.Lists3.i64", "repeated int64 i64 = 4 [packed = false];")]
    [TestCase("rpcovershm.tool.test.Notes.List", "rpc List(rpcovershm.tool.test.ListRequest) returns")]
    [TestCase("rpcovershm.tool.test.extra", "extend rpcovershm.tool.test.Singles2 {\n  optional int32 extra = 100;\n}")]
    public void Of_AFieldMethodOrExtension_HasItsLine(string name, string line) =>
        Assert.That(ProtoText.Of(DynamicTypes.Schema.Find(name)!), Does.Contain(line));

    private static void Check(string name, string expected) =>
        Assert.That(ProtoText.Of(DynamicTypes.Schema.Find(name)!), Is.EqualTo(expected));
}
