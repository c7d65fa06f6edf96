using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace RpcOverShm.Samples;

/// <summary>The worker process: a host whose server starts, drains and stops with it.</summary>
internal static class GreeterWorker
{
    public const string ReadyLine = "ready";

    /// <summary>The setting with which the end of the input stops the worker, where no signal does.</summary>
    public const string StopWithInput = "StopWithInput";

    public static async Task<int> RunAsync(string[] args)
    {
        // snippet: server
        var builder = Host.CreateApplicationBuilder(
            new HostApplicationBuilderSettings { Args = args, ContentRootPath = AppContext.BaseDirectory });
        IConfigurationSection section = builder.Configuration.GetSection("Greeter");

        builder.Services.AddSystemd();
        builder.Services.AddSingleton<Guestbook>();
        builder.Services.AddShmServer(section["Address"]!)
            .Bind(section.GetSection("Server"))
            .AddService<GreeterService>()
            .AddHealth()
            .AddReflection();
        // end snippet
        using IHost host = builder.Build();
        await host.StartAsync();
        Console.WriteLine(ReadyLine);
        if (builder.Configuration.GetValue<bool>(StopWithInput))
        {
            _ = StopAtEndOfInputAsync(host.Services.GetRequiredService<IHostApplicationLifetime>());
        }

        await host.WaitForShutdownAsync();
        Console.WriteLine($"{host.Services.GetRequiredService<Guestbook>().Count}");
        return 0;
    }

    private static async Task StopAtEndOfInputAsync(IHostApplicationLifetime lifetime)
    {
        await Console.OpenStandardInput().CopyToAsync(Stream.Null);
        lifetime.StopApplication();
    }
}

// snippet: service
/// <summary>A service with an instance and a scope for each call.</summary>
internal sealed class GreeterService(Guestbook guestbook) : Greeter.GreeterBase
{
    public override async Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
    {
        // Some work, so that calls run when the host begins to stop.
        await Task.Delay(TimeSpan.FromMilliseconds(5), context.CancellationToken);
        guestbook.Add();
        return new HelloReply { Message = $"Hello {request.Name}" };
    }
}
// end snippet

/// <summary>Counts the guests of the process. Thread-safe.</summary>
internal sealed class Guestbook
{
    private int _count;

    public int Count => Volatile.Read(ref _count);

    public void Add() => Interlocked.Increment(ref _count);
}
