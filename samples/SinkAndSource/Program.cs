using System.Diagnostics;
using System.Globalization;
using RpcOverShm;
using RpcOverShm.Samples;

const int DefaultMebibytes = 1024;
const int DefaultChunkKibibytes = 64;

// With the word "source" the program is the source. Without it, it is the sink, which starts the source.
if (args is ["source", string sink, string count, string size])
{
    await using ShmStream toSink = await ShmStream.ConnectAsync(sink);
    await Chunks.SendAsync(toSink, Parse(count), Parse(size));
    return 0;
}

int mebibytes = args.Length > 0 ? Parse(args[0]) : DefaultMebibytes;
int chunkKibibytes = args.Length > 1 ? Parse(args[1]) : DefaultChunkKibibytes;
if (args.Length > 2 || mebibytes is < 1 or > 1 << 20 || chunkKibibytes is < 1 or > 64 << 10)
{
    Console.Error.WriteLine("SinkAndSource [MEBIBYTES [CHUNK]]: 1 to 1,048,576 MiB, in chunks of 1 to 65,536 KiB.");
    return 2;
}

int chunkBytes = chunkKibibytes << 10;
int chunks = (int)((((long)mebibytes << 20) + chunkBytes - 1) / chunkBytes);
string address = $"shm://sink-{Environment.ProcessId}";

// The sink listens before the source starts, so the source finds it at the first try.
await using var listener = new ShmStreamListener(address);
listener.Start();
using Process source = Process.Start(Environment.ProcessPath!, ["source", address, $"{chunks}", $"{chunkBytes}"]);
using var sourceHasFailed = new CancellationTokenSource();
source.Exited += (_, _) =>
{
    // A source that ends well has connected, and its bytes can still be read.
    if (source.ExitCode != 0)
    {
        sourceHasFailed.Cancel();
    }
};
source.EnableRaisingEvents = true;
try
{
    await using ShmStream fromSource = await listener.AcceptAsync(sourceHasFailed.Token);
    long begun = Stopwatch.GetTimestamp();
    await Chunks.ReceiveAsync(fromSource, chunks, chunkBytes);
    TimeSpan time = Stopwatch.GetElapsedTime(begun);
    double megabytes = (double)chunks * chunkBytes / 1_000_000;
    Console.WriteLine(string.Create(
        CultureInfo.InvariantCulture,
        $"{chunks:N0} chunks of {chunkBytes:N0} bytes, all checked: {megabytes:N0} MB in {time.TotalSeconds:0.00} s, "
        + $"{megabytes / time.TotalSeconds:N0} MB/s."));
    return 0;
}
catch (Exception exception) when (exception is IOException or OperationCanceledException)
{
    Console.Error.WriteLine($"The source has ended before its last chunk: {exception.Message}");
    return 1;
}

// Zero if the text is no number; the check of the ranges refuses it.
static int Parse(string text) =>
    int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : 0;
