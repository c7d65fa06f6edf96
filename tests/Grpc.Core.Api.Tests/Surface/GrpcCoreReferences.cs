using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Grpc.Core.Api.Tests.Surface;

/// <summary>
/// Walks the metadata of Grpc.Core for all that it takes from Grpc.Core.Api, and lets the runtime resolve each piece as
/// it would when code that uses it is compiled.
/// </summary>
internal sealed class GrpcCoreReferences : IDisposable
{
    private const string StandIn = "Grpc.Core.Api";

    // Type parameters of Grpc.Core's own generic code: any reference type will do, and no code has more than these.
    private static readonly Type[] s_anyArguments = [typeof(string), typeof(string), typeof(string), typeof(string)];

    private readonly Assembly _grpcCore = typeof(Channel).Assembly;
    private readonly PEReader _file;
    private readonly MetadataReader _metadata;

    internal GrpcCoreReferences()
    {
        _file = new PEReader(File.OpenRead(_grpcCore.Location));
        _metadata = _file.GetMetadataReader();
    }

    public void Dispose() => _file.Dispose();

    internal Dictionary<string, EntityHandle> Types()
    {
        return _metadata.TypeReferences
            .Where(handle => IsFromStandIn(handle))
            .ToDictionary(handle => NameOf(handle), handle => (EntityHandle)handle);
    }

    internal List<(string Name, EntityHandle Handle)> Members()
    {
        return _metadata.MemberReferences
            .Select(handle => (Handle: (EntityHandle)handle, Reference: _metadata.GetMemberReference(handle)))
            .Where(member => IsFromStandIn(member.Reference.Parent))
            .Select(member => (NameOf(member.Reference), member.Handle))
            .ToList();
    }

    /// <summary>Types that were once Grpc.Core's own and now point here, by their reflection names.</summary>
    internal List<string> Forwards()
    {
        return _metadata.ExportedTypes
            .Select(handle => ForwardName(_metadata.GetExportedType(handle)))
            .ToList();
    }

    /// <summary>Null if the runtime finds it, else what the runtime says.</summary>
    internal string? WhyMissing(EntityHandle handle)
    {
        try
        {
            var token = MetadataTokens.GetToken(handle);
            var found = _grpcCore.ManifestModule.ResolveMember(token, s_anyArguments, s_anyArguments);
            return found is null ? "It resolves to nothing." : null;
        }
        catch (Exception e) when (e is TypeLoadException or MissingMemberException)
        {
            return e.Message;
        }
    }

    private bool IsFromStandIn(EntityHandle type)
    {
        return type.Kind switch
        {
            HandleKind.TypeReference => IsFromStandIn(_metadata.GetTypeReference((TypeReferenceHandle)type)),
            HandleKind.TypeSpecification => IsFromStandIn(GenericTypeOf((TypeSpecificationHandle)type)),
            _ => false,
        };
    }

    private bool IsFromStandIn(TypeReference type)
    {
        return type.ResolutionScope.Kind switch
        {
            HandleKind.TypeReference => IsFromStandIn(type.ResolutionScope),
            HandleKind.AssemblyReference => _metadata.StringComparer.Equals(
                _metadata.GetAssemblyReference((AssemblyReferenceHandle)type.ResolutionScope).Name, StandIn),
            _ => false,
        };
    }

    private EntityHandle GenericTypeOf(TypeSpecificationHandle handle)
    {
        var signature = _metadata.GetBlobReader(_metadata.GetTypeSpecification(handle).Signature);
        if (signature.ReadSignatureTypeCode() != SignatureTypeCode.GenericTypeInstance)
        {
            return default;
        }

        signature.ReadByte(); // Says class or struct, which the name says as well.
        return signature.ReadTypeHandle();
    }

    private string ForwardName(ExportedType type)
    {
        var name = _metadata.GetString(type.Name);
        return type.Implementation.Kind == HandleKind.ExportedType
            ? ForwardName(_metadata.GetExportedType((ExportedTypeHandle)type.Implementation)) + "+" + name
            : _metadata.GetString(type.Namespace) + "." + name;
    }

    private string NameOf(MemberReference member)
    {
        return NameOf(member.Parent) + "." + _metadata.GetString(member.Name);
    }

    private string NameOf(EntityHandle handle)
    {
        if (handle.Kind == HandleKind.TypeSpecification)
        {
            return NameOf(GenericTypeOf((TypeSpecificationHandle)handle));
        }

        var type = _metadata.GetTypeReference((TypeReferenceHandle)handle);
        var prefix = type.ResolutionScope.Kind == HandleKind.TypeReference
            ? NameOf(type.ResolutionScope)
            : _metadata.GetString(type.Namespace);
        return prefix + "." + _metadata.GetString(type.Name);
    }
}
