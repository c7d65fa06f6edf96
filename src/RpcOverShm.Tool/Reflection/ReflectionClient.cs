using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Grpc.Core;
using Grpc.Reflection.V1;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Reflection;

/// <summary>
/// The services and types of a server, asked of its reflection when somebody needs them. For one user at a time.
/// </summary>
/// <param name="invoker">Calls the server.</param>
/// <param name="newOptions">Returns the options of a call that starts now: metadata and token.</param>
/// <param name="longest">The time for all questions together.</param>
/// <param name="address">The server's address, for messages.</param>
internal sealed class ReflectionClient(
    CallInvoker invoker, Func<CallOptions> newOptions, TimeSpan longest, string address)
{
    // A stream of messages could name another type in each.
    private const int MostUnknown = 100;

    private const string InfoMethod = "ServerReflectionInfo";

    // Both versions have the same messages on the wire.
    private static readonly Method<ServerReflectionRequest, ServerReflectionResponse>[] s_versions =
    [
        MethodOf("grpc.reflection.v1.ServerReflection"), MethodOf("grpc.reflection.v1alpha.ServerReflection"),
    ];

    private readonly HashSet<string> _unknown = []; // names that the server could not describe
    private readonly SortedDictionary<string, ToolException> _problems = new(StringComparer.Ordinal);
    private TimeSpan _spent;
    private int _version;

    public Schema Schema { get; } = new();

    /// <summary>The services that the server lists and cannot describe, and why.</summary>
    public IReadOnlyDictionary<string, ToolException> Problems => _problems;

    /// <summary>Returns the full names of all services, sorted.</summary>
    /// <exception cref="ToolException">The server has no reflection.</exception>
    /// <exception cref="RpcException">The call failed.</exception>
    public async Task<IReadOnlyList<string>> ListServicesAsync()
    {
        ServerReflectionResponse answer = await AskAsync(new ServerReflectionRequest { ListServices = "" })
            .ConfigureAwait(false);
        return answer.ListServicesResponse is { } list
            ? [.. list.Service.Select(service => service.Name).Distinct().Order(StringComparer.Ordinal)]
            : throw Refused(answer);
    }

    /// <summary>
    /// Returns all services that the server describes, by name. Those that it cannot describe are in
    /// <see cref="Problems"/>.
    /// </summary>
    /// <exception cref="ToolException">The server has no reflection.</exception>
    /// <exception cref="RpcException">The call failed.</exception>
    public async Task<IReadOnlyList<ServiceDescriptor>> GetServicesAsync()
    {
        IReadOnlyList<string> names = await ListServicesAsync().ConfigureAwait(false);
        foreach (string name in names.Where(name => Schema.Find(name) is null))
        {
            try
            {
                await TryLoadAsync(name).ConfigureAwait(false);
            }
            catch (ToolException exception)
            {
                _problems[name] = exception;
            }
        }

        return [.. names.Select(Schema.Find).OfType<ServiceDescriptor>()];
    }

    /// <summary>
    /// Loads the file that declares a name; returns what has that name, null if the server knows none.
    /// </summary>
    /// <exception cref="ToolException">The server has no reflection.</exception>
    /// <exception cref="RpcException">The call failed.</exception>
    public async Task<IDescriptor?> TryLoadAsync(string fullName)
    {
        if (_unknown.Count >= MostUnknown || !_unknown.Add(fullName))
        {
            return null;
        }

        ServerReflectionResponse answer = await AskAsync(
            new ServerReflectionRequest { FileContainingSymbol = fullName }).ConfigureAwait(false);
        if (answer.FileDescriptorResponse is not { } files)
        {
            return null;
        }

        await AddAsync(files.FileDescriptorProto).ConfigureAwait(false);
        IDescriptor? found = Schema.Find(fullName);
        if (found is not null)
        {
            _unknown.Remove(fullName);
        }

        return found;
    }

    // Files that are unusable are taken back: they must not hide what other files declare.
    private async Task AddAsync(IEnumerable<ByteString> files)
    {
        IReadOnlyDictionary<string, ByteString> before = Schema.Files;
        try
        {
            IReadOnlyList<string> missing = Schema.Add(files);
            while (missing.Count > 0)
            {
                missing = await LoadFilesAsync(missing).ConfigureAwait(false);
            }

            Schema.Build();
        }
        catch (Exception exception) when (exception is ToolException or RpcException)
        {
            Schema.Restore(before);
            throw;
        }
    }

    // Some servers give an answer's file alone, and its imports by name.
    private async Task<IReadOnlyList<string>> LoadFilesAsync(IReadOnlyList<string> names)
    {
        var files = new List<ByteString>();
        foreach (string name in names)
        {
            ServerReflectionResponse answer = await AskAsync(new ServerReflectionRequest { FileByFilename = name })
                .ConfigureAwait(false);
            ByteString[] found = [.. answer.FileDescriptorResponse?.FileDescriptorProto ?? []];
            files.AddRange(found.Any(bytes => Schema.Read(bytes).Name == name)
                ? found
                : throw new ToolException(
                    ExitCode.NotOffered,
                    $"The reflection of {address} does not give the file '{name}', which others import: "
                    + "add its descriptor to the reflection of the server."));
        }

        return Schema.Add(files);
    }

    private async Task<ServerReflectionResponse> AskAsync(ServerReflectionRequest request)
    {
        for (; ; _version++)
        {
            try
            {
                return await AskAsync(s_versions[_version], request).ConfigureAwait(false);
            }
            catch (RpcException exception) when (exception.StatusCode == StatusCode.Unimplemented)
            {
                if (_version == s_versions.Length - 1)
                {
                    throw new ToolException(
                        ExitCode.NotOffered,
                        $"The server at {address} has no reflection, so its services and types are unknown here. Add "
                        + "it to the server: AddReflection() of RpcOverShm.Hosting, or the ReflectionServiceImpl of "
                        + "Grpc.Reflection among its services.",
                        exception);
                }
            }
        }
    }

    private async Task<ServerReflectionResponse> AskAsync(
        Method<ServerReflectionRequest, ServerReflectionResponse> method, ServerReflectionRequest request)
    {
        long begun = Stopwatch.GetTimestamp();
        CallOptions options = newOptions()
            .WithDeadline((TimeProvider.System.GetUtcNow() + (longest - _spent)).UtcDateTime);
        using AsyncDuplexStreamingCall<ServerReflectionRequest, ServerReflectionResponse> call =
            invoker.AsyncDuplexStreamingCall(method, null, options);
        try
        {
            await call.RequestStream.WriteAsync(request).ConfigureAwait(false);
            await call.RequestStream.CompleteAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is RpcException or InvalidOperationException)
        {
            // The call has ended; the answer below says how.
        }

        try
        {
            return await call.ResponseStream.MoveNext(options.CancellationToken).ConfigureAwait(false)
                ? call.ResponseStream.Current
                : throw new ToolException(
                    ExitCode.NotOffered, $"The reflection of {address} ended without an answer.");
        }
        finally
        {
            _spent += Stopwatch.GetElapsedTime(begun);
        }
    }

    private ToolException Refused(ServerReflectionResponse answer) => new(
        ExitCode.NotOffered,
        $"The reflection of {address} answered {answer.ErrorResponse?.ErrorMessage ?? "something else"}.");

    private static Method<ServerReflectionRequest, ServerReflectionResponse> MethodOf(string service) => new(
        MethodType.DuplexStreaming,
        service,
        InfoMethod,
        Marshallers.Create(MessageExtensions.ToByteArray, ServerReflectionRequest.Parser.ParseFrom),
        Marshallers.Create(MessageExtensions.ToByteArray, ServerReflectionResponse.Parser.ParseFrom));
}
