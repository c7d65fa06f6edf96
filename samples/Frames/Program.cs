using System.Globalization;
using RpcOverShm.Samples;

const int DefaultFrames = 40;
const int MostFrames = 100_000;

// The words of the other two processes. Without them the program is the camera, which starts these.
switch (args)
{
    case ["display", string address, string lends]:
        return await Stages.RunAsync(address, bool.Parse(lends), static () => new Display());
    case ["filter", string address, string next, string lends]:
        return await Stages.RunAsync(address, bool.Parse(lends), () => new Filter(next, bool.Parse(lends)));
}

int frames = DefaultFrames;
if (args.Length > 1
    || (args.Length == 1 && !int.TryParse(args[0], NumberStyles.None, CultureInfo.InvariantCulture, out frames))
    || frames is < 1 or > MostFrames)
{
    Console.Error.WriteLine($"Frames [COUNT]: 1 to {MostFrames:N0} frames of {Frame.Bytes >> 20} MiB.");
    return 2;
}

Console.WriteLine($"{frames} frames of {Frame.Bytes >> 20} MiB go from a camera through a filter to a display.");
TimeSpan copied = await Camera.RunAsync(frames, lends: false);
TimeSpan lent = await Camera.RunAsync(frames, lends: true);
Console.WriteLine(string.Create(
    CultureInfo.InvariantCulture,
    $"copied: {copied.TotalMilliseconds:0.0} ms a frame; lent: {lent.TotalMilliseconds:0.0} ms, "
    + $"{copied / lent:0.0} times as fast. All bytes were written, changed and checked."));
return 0;
