namespace MessagePack.Tests.Tokens;

/// <summary>All 256 codes, as the format's table has them.</summary>
public class CodeTests
{
    [TestCase(0x00, 0x7f, MessagePackType.Integer, "positive fixint")]
    [TestCase(0x80, 0x8f, MessagePackType.Map, "fixmap")]
    [TestCase(0x90, 0x9f, MessagePackType.Array, "fixarray")]
    [TestCase(0xa0, 0xbf, MessagePackType.String, "fixstr")]
    [TestCase(0xc0, 0xc0, MessagePackType.Nil, "nil")]
    [TestCase(0xc1, 0xc1, MessagePackType.Unknown, "(never used)")]
    [TestCase(0xc2, 0xc2, MessagePackType.Boolean, "false")]
    [TestCase(0xc3, 0xc3, MessagePackType.Boolean, "true")]
    [TestCase(0xc4, 0xc4, MessagePackType.Binary, "bin 8")]
    [TestCase(0xc5, 0xc5, MessagePackType.Binary, "bin 16")]
    [TestCase(0xc6, 0xc6, MessagePackType.Binary, "bin 32")]
    [TestCase(0xc7, 0xc7, MessagePackType.Extension, "ext 8")]
    [TestCase(0xc8, 0xc8, MessagePackType.Extension, "ext 16")]
    [TestCase(0xc9, 0xc9, MessagePackType.Extension, "ext 32")]
    [TestCase(0xca, 0xca, MessagePackType.Float, "float 32")]
    [TestCase(0xcb, 0xcb, MessagePackType.Float, "float 64")]
    [TestCase(0xcc, 0xcc, MessagePackType.Integer, "uint 8")]
    [TestCase(0xcd, 0xcd, MessagePackType.Integer, "uint 16")]
    [TestCase(0xce, 0xce, MessagePackType.Integer, "uint 32")]
    [TestCase(0xcf, 0xcf, MessagePackType.Integer, "uint 64")]
    [TestCase(0xd0, 0xd0, MessagePackType.Integer, "int 8")]
    [TestCase(0xd1, 0xd1, MessagePackType.Integer, "int 16")]
    [TestCase(0xd2, 0xd2, MessagePackType.Integer, "int 32")]
    [TestCase(0xd3, 0xd3, MessagePackType.Integer, "int 64")]
    [TestCase(0xd4, 0xd4, MessagePackType.Extension, "fixext 1")]
    [TestCase(0xd5, 0xd5, MessagePackType.Extension, "fixext 2")]
    [TestCase(0xd6, 0xd6, MessagePackType.Extension, "fixext 4")]
    [TestCase(0xd7, 0xd7, MessagePackType.Extension, "fixext 8")]
    [TestCase(0xd8, 0xd8, MessagePackType.Extension, "fixext 16")]
    [TestCase(0xd9, 0xd9, MessagePackType.String, "str 8")]
    [TestCase(0xda, 0xda, MessagePackType.String, "str 16")]
    [TestCase(0xdb, 0xdb, MessagePackType.String, "str 32")]
    [TestCase(0xdc, 0xdc, MessagePackType.Array, "array 16")]
    [TestCase(0xdd, 0xdd, MessagePackType.Array, "array 32")]
    [TestCase(0xde, 0xde, MessagePackType.Map, "map 16")]
    [TestCase(0xdf, 0xdf, MessagePackType.Map, "map 32")]
    [TestCase(0xe0, 0xff, MessagePackType.Integer, "negative fixint")]
    public void Codes_OfARange_HaveTheirTypeAndName(int first, int last, MessagePackType type, string name)
    {
        for (int code = first; code <= last; code++)
        {
            Assert.That(MessagePackCode.ToMessagePackType((byte)code), Is.EqualTo(type), $"{code:x2}");
            Assert.That(MessagePackCode.ToFormatName((byte)code), Is.EqualTo(name), $"{code:x2}");
        }
    }
}
