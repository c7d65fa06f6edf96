using System.Reflection;
using Microsoft.CodeAnalysis;

namespace RpcOverShm.Analyzers;

/// <summary>The rules; docs/analyzer.md has an example of each.</summary>
internal static class Rules
{
    private const string Category = "RpcOverShm";

    // A build for a release knows where the repository is.
    private static readonly string s_page = typeof(Rules).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>()
        .Where(data => data.Key == "Repository").Select(data => data.Value + "/blob/main/").FirstOrDefault()
        + "docs/analyzer.md#";

    public static readonly DiagnosticDescriptor BlockingCallback = new(
        "RPCSHM001",
        "A service method blocks in a call to its own client",
        "'{0}' blocks in a service method until the client has answered: await '{0}Async', so that the event loop goes "
            + "on with other calls",
        Category,
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        "A service method runs on the event loop that serves its client and others. While it blocks, they wait for a "
            + "millisecond or two, and a thread is kept until the client has answered.",
        s_page + "rpcshm001-a-service-method-blocks-in-a-call-to-its-own-client");

    public static readonly DiagnosticDescriptor OptionWithoutCounterpart = new(
        "RPCSHM002",
        "An option of a gRPC channel has no counterpart",
        "'{0}' of gRPC's channels has no counterpart here: {1}",
        Category,
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        "Options that configure HTTP, name resolution or hedging have no meaning over shared memory.",
        s_page + "rpcshm002-an-option-of-a-grpc-channel-has-no-counterpart");

    public static readonly DiagnosticDescriptor PayloadNotDisposed = new(
        "RPCSHM003",
        "A ShmPayload is not disposed",
        "{0} is not disposed: the pool loses its arrays; declare it with 'using'",
        Category,
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        "The receiver of a payload owns pooled arrays and gives them back when it disposes the payload.",
        s_page + "rpcshm003-a-shmpayload-is-not-disposed");

    public static readonly DiagnosticDescriptor ChannelPerCall = new(
        "RPCSHM004",
        "A ShmChannel is made for each call",
        "This channel is made for each {0}, and connects each time: make one for each server, and share it",
        Category,
        DiagnosticSeverity.Warning,
        isEnabledByDefault: true,
        "A channel is a connection with a handshake, two rings and a session. It is made once, and serves all threads.",
        s_page + "rpcshm004-a-shmchannel-is-made-for-each-call");
}
