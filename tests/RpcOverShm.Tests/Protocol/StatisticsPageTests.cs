using System.Buffers.Binary;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class StatisticsPageTests
{
    // Positions in the content, which begins behind the sequence number.
    private const int MagicAt = 0;
    private const int RowSizeAt = 8;
    private const int RowsAt = 12;
    private const int ConnectionsAt = 16;
    private const int FirstRowAt = 56;

    private readonly byte[] _buffer = new byte[8 << 10];

    [Test]
    public void Decode_OfAnEncodedPage_HasItsFigures()
    {
        StatisticsPage page = Sample(rows: 3);

        StatisticsPage decoded = StatisticsPage.Decode(page.Encode(_buffer));

        Assert.That(decoded.Time, Is.EqualTo(page.Time));
        Assert.That(decoded.Connections, Is.EqualTo(5));
        Assert.That(decoded.Rows.Select(row => row.Figures), Is.EqualTo(page.Rows.Select(row => row.Figures)));
        Assert.That(decoded.Rows[2].Latencies, Is.EqualTo(page.Rows[2].Latencies));
    }

    [Test]
    public void Encode_OfMoreRowsThanFit_HasTheFirstOnes()
    {
        StatisticsPage decoded = StatisticsPage.Decode(Sample(rows: 20).Encode(_buffer));

        Assert.That(decoded.Rows, Has.Count.EqualTo(StatisticsPage.MostRows(_buffer.Length)).And.Count.EqualTo(7));
    }

    // The rows of a later build may be longer.
    [Test]
    public void Decode_OfLongerRows_ReadsTheirBeginning()
    {
        Sample(rows: 2).Encode(_buffer);
        byte[] longer = new byte[_buffer.Length];
        _buffer.AsSpan(0, FirstRowAt).CopyTo(longer);
        for (int row = 0; row < 2; row++)
        {
            _buffer.AsSpan(FirstRowAt + (row * StatisticsPage.RowSize), StatisticsPage.RowSize)
                .CopyTo(longer.AsSpan(FirstRowAt + (row * (StatisticsPage.RowSize + 64))));
        }

        BinaryPrimitives.WriteUInt32LittleEndian(longer.AsSpan(RowSizeAt), StatisticsPage.RowSize + 64);

        Assert.That(
            StatisticsPage.Decode(longer).Rows.Select(row => row.Figures.Session), Is.EqualTo(new[] { 1, 2 }));
    }

    [TestCase(MagicAt, 1u, "magic number")]
    [TestCase(RowSizeAt, 8u, "rows of 8 bytes")]
    [TestCase(RowSizeAt, 1028u, "rows of 1028 bytes")]
    [TestCase(RowSizeAt, uint.MaxValue - 7, "are allowed")]
    [TestCase(RowsAt, 8u, "8 rows")]
    [TestCase(RowsAt, uint.MaxValue, "are allowed")]
    [TestCase(ConnectionsAt, uint.MaxValue, "are allowed")]
    [TestCase(FirstRowAt + 4, 0x8000_0000u, "a negative number")]
    public void Decode_OfAMalformedPage_IsRefused(int at, uint value, string text)
    {
        Sample(rows: 3).Encode(_buffer);
        BinaryPrimitives.WriteUInt32LittleEndian(_buffer.AsSpan(at), value);

        Assert.That(
            () => StatisticsPage.Decode(_buffer), Throws.TypeOf<ProtocolException>().With.Message.Contains(text));
    }

    [Test]
    public void Decode_OfRandomBytes_FailsInNoOtherWay()
    {
        var random = new Random(33);
        for (int i = 0; i < 20_000; i++)
        {
            Sample(rows: 3).Encode(_buffer);
            for (int spoilt = random.Next(1, 6); spoilt > 0; spoilt--)
            {
                _buffer[random.Next(random.Next(2) == 0 ? FirstRowAt : _buffer.Length)] = (byte)random.Next(256);
            }

            try
            {
                Assert.That(StatisticsPage.Decode(_buffer).Rows, Has.Count.AtMost(7));
            }
            catch (ProtocolException)
            {
                // What is expected of most of them.
            }
        }
    }

    private static StatisticsPage Sample(int rows) => new(
        Time: 77_000,
        Connections: 5,
        [
            .. Enumerable.Range(1, rows).Select(session => new ConnectionStatistics(
                new StatisticsRow { Session = session, Calls = 1000 * session, Stalls = 7, KeptBytes = 1L << 40 },
                [.. Enumerable.Range(0, LatencyCounts.CellCount).Select(cell => (long)cell * session)])),
        ]);
}
