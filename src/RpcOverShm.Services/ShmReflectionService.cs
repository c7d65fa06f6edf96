using Google.Protobuf.Reflection;
using Grpc.Core;
using CurrentReflection = Grpc.Reflection.V1.ServerReflection;
using FormerReflection = Grpc.Reflection.V1Alpha.ServerReflection;

namespace RpcOverShm.Services;

/// <summary>
/// The standard reflection service, by which tools learn what a server offers: <c>grpc.reflection.v1</c> and its
/// predecessor <c>v1alpha</c>, both from one table of descriptors. Works with any gRPC server; either add all of
/// <see cref="BindServices()"/>, or one version by itself. Everything that the services' files say, and all files that
/// these import, can be asked for; comments cannot, because generated code has none. Immutable, and so thread-safe;
/// there is nothing to dispose.
/// </summary>
public sealed class ShmReflectionService
{
    private readonly SymbolTable _symbols;

    /// <summary>Makes a service that tells of others.</summary>
    /// <param name="services">
    /// The services to list: the <c>Descriptor</c> of each generated service class. Reflection itself is listed where
    /// its descriptor is among them, and not otherwise.
    /// </param>
    /// <exception cref="ArgumentNullException">The services, or one of them, are null.</exception>
    public ShmReflectionService(params ServiceDescriptor[] services)
        : this(services, null)
    {
    }

    /// <summary>Makes a service that tells of others, and of files that none of them imports.</summary>
    /// <param name="services">The services to list, each once and in this order.</param>
    /// <param name="files">
    /// More files to be found with what they import, such as those of extensions and of messages that travel in an
    /// <c>Any</c>; null for none. Where files have the same name, the name finds the first, the services' files coming
    /// before these; symbols find each.
    /// </param>
    /// <exception cref="ArgumentNullException">The services, or one service or file, are null.</exception>
    public ShmReflectionService(IEnumerable<ServiceDescriptor> services, IEnumerable<FileDescriptor>? files = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        ServiceDescriptor[] listed = Complete(services, nameof(services));
        FileDescriptor[] others = Complete(files ?? [], nameof(files));
        ServiceNames = [.. listed.Select(service => service.FullName).Distinct()];
        _symbols = new SymbolTable(listed.Select(service => service.File).Concat(others));
        V1 = new ReflectionV1(this);
        V1Alpha = new ReflectionV1Alpha(this);
    }

    /// <summary>The full names of the services that are listed.</summary>
    public IReadOnlyList<string> ServiceNames { get; }

    /// <summary>The service <c>grpc.reflection.v1.ServerReflection</c>.</summary>
    public CurrentReflection.ServerReflectionBase V1 { get; }

    /// <summary>
    /// The service <c>grpc.reflection.v1alpha.ServerReflection</c>. It answers the same, to older tools.
    /// </summary>
    public FormerReflection.ServerReflectionBase V1Alpha { get; }

    /// <summary>Both versions, to be added to a server. Every call makes new definitions.</summary>
    public IReadOnlyList<ServerServiceDefinition> BindServices() =>
        [CurrentReflection.BindService(V1), FormerReflection.BindService(V1Alpha)];

    /// <summary>Binds both versions to what a server collects its methods with.</summary>
    /// <param name="binder">The server's.</param>
    /// <exception cref="ArgumentNullException">There is none.</exception>
    public void BindServices(ServiceBinderBase binder)
    {
        ArgumentNullException.ThrowIfNull(binder);
        CurrentReflection.BindService(binder, V1);
        FormerReflection.BindService(binder, V1Alpha);
    }

    /// <summary>What one stream is answered.</summary>
    internal ReflectionAnswers StartStream() => new(_symbols, ServiceNames);

    private static T[] Complete<T>(IEnumerable<T> descriptors, string name)
    {
        T[] complete = [.. descriptors];
        return Array.TrueForAll(complete, descriptor => descriptor is not null)
            ? complete
            : throw new ArgumentNullException(name, "One of the descriptors is null.");
    }
}
