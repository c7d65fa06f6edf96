using System.Diagnostics;
using System.Globalization;
using System.Runtime;
using Grpc.Core;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Logging;
using RpcOverShm;
using RpcOverShm.Samples;

const int Repetitions = 500;
const int MostRounds = 10;
const int FewOfAllMethods = 200;
TimeSpan round = TimeSpan.FromMilliseconds(200);

// One service object behind both doors.
var depot = new DepotService();
using ILoggerFactory loggers = LoggerFactory.Create(
    logging => logging.AddConsole().SetMinimumLevel(LogLevel.Warning));
await using ShmServer server = await Doors.OpenSharedMemoryAsync(depot, loggers);
await using WebApplication app = await Doors.OpenHttpAsync(depot);

ChannelBase shm = Doors.ChannelFor(server.Address);
ChannelBase hosted = Doors.ChannelFor(Doors.HostedAddress);
ChannelBase http = Doors.ChannelFor(app.Urls.Single());
int differing = 0;
Console.WriteLine($"{"call",-16} {"shared memory",14} {"HTTP/2",14}   answers");
foreach (((string name, Func<Task<Func<string>>> overShm, bool isTimed),
    (_, Func<Task<Func<string>>> overHosted, _), (_, Func<Task<Func<string>>> overHttp, _))
    in new DepotCalls(shm).All.Zip(new DepotCalls(hosted).All, new DepotCalls(http).All))
{
    string one = (await overShm())();
    string hosting = (await overHosted())();
    string other = (await overHttp())();
    bool isSame = one == other && one == hosting;
    differing += isSame ? 0 : 1;
    string verdict = isSame ? $"alike: {Cut(one)}" : $"DIFFERENT:\n  {one}\n  {hosting}\n  {other}";
    string times = isTimed ? $"{await TimeAsync(overShm),14} {await TimeAsync(overHttp),14}" : new string(' ', 29);
    Console.WriteLine($"{name,-16} {times}   {verdict}");
}

await shm.ShutdownAsync();
await hosted.ShutdownAsync();
await http.ShutdownAsync();
await server.StopAsync();
await app.StopAsync();
Console.WriteLine(differing == 0 ? "Both doors answer alike." : $"{differing} calls were answered differently.");
return differing == 0 ? 0 : 1;

// .NET first compiles quickly, and then again, in the background, what is called often: a time is that of a call after
// the compiler has finished, or after some rounds on a machine that is too busy for it.
async Task<string> TimeAsync(Func<Task<Func<string>>> call)
{
    long compiled;
    int rounds = 0;
    do
    {
        compiled = JitInfo.GetCompiledMethodCount();
        long begun = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(begun) < round)
        {
            await call();
        }
    }
    while (JitInfo.GetCompiledMethodCount() - compiled > compiled / FewOfAllMethods && ++rounds < MostRounds);

    double[] times = new double[Repetitions];
    for (int i = 0; i < times.Length; i++)
    {
        long start = Stopwatch.GetTimestamp();
        await call();
        times[i] = Stopwatch.GetElapsedTime(start).TotalMicroseconds;
    }

    Array.Sort(times);
    return string.Create(CultureInfo.InvariantCulture, $"{times[Repetitions / 2]:F1} us");
}

static string Cut(string text) => text.Length <= 60 ? text : text[..60] + "...";
