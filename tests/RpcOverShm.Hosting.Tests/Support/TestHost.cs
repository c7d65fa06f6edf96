using Grpc.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests.Support;

/// <summary>
/// A host with nothing but what a test adds, which checks the scopes of its container. Dispose stops it, and fails if
/// something unexpected was logged.
/// </summary>
internal sealed class TestHost : IAsyncDisposable
{
    private readonly HostApplicationBuilder _builder = Host.CreateEmptyApplicationBuilder(settings: null);
    private readonly Lazy<IHost> _host;

    /// <param name="isCheckedWhenBuilt">Whether the container finds missing registrations, as in development.</param>
    public TestHost(bool isCheckedWhenBuilt = true)
    {
        _builder.ConfigureContainer(new DefaultServiceProviderFactory(
            new ServiceProviderOptions { ValidateScopes = true, ValidateOnBuild = isCheckedWhenBuilt }));
        _builder.Services.AddSingleton<ILoggerFactory>(Log);
        _builder.Services.AddSingleton(Diary);
        _builder.Services.AddSingleton(Methods);
        _host = new Lazy<IHost>(_builder.Build);
    }

    /// <summary>An address of this host.</summary>
    public string Address { get; } = $"shm://{UniqueName.Next()}";

    public LogGuard Log { get; } = new();

    public Diary Diary { get; } = new();

    public Methods Methods { get; } = new();

    public IServiceCollection Services => _builder.Services;

    public IServiceProvider Provider => _host.Value.Services;

    public ShmServer Server => Provider.GetRequiredService<ShmServer>();

    /// <summary>Returns a section of the configuration with these keys and values.</summary>
    public IConfigurationSection Section(params (string Key, string Value)[] entries)
    {
        _builder.Configuration.AddInMemoryCollection(
            entries.Select(one => KeyValuePair.Create($"Section:{one.Key}", (string?)one.Value)));
        return _builder.Configuration.GetSection("Section");
    }

    public Task StartAsync() => _host.Value.StartAsync().Bounded();

    public Task StopAsync() => _host.Value.StopAsync();

    public ShmChannel Open(string? address = null) => ShmChannel.ForAddress(address ?? Address);

    public async ValueTask DisposeAsync()
    {
        await StopAsync().Bounded();
        await ((IAsyncDisposable)_host.Value).DisposeAsync().Bounded();
        Log.Check();
    }
}

/// <summary>The code of the methods of a <see cref="TestService"/>.</summary>
internal sealed class Methods
{
    public Func<IServiceProvider, ServerCallContext, Task<string>> Echo { get; set; } =
        static (_, _) => Task.FromResult("");
}
