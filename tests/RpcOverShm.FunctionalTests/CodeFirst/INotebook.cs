using ProtoBuf;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Configuration;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>
/// A contract without a .proto file. It is public, because protobuf-net.Grpc implements it in another assembly.
/// </summary>
[Service("test.Notebook")]
public interface INotebook
{
    [Operation]
    Note Write(Note note, CallContext context = default);

    [Operation("WriteLater")]
    Task<Note> WriteAsync(Note note, CallContext context = default);

    [Operation]
    IAsyncEnumerable<Note> ReadAsync(Note first, CallContext context = default);

    [Operation]
    Task<Note> JoinAsync(IAsyncEnumerable<Note> notes, CallContext context = default);

    [Operation]
    IAsyncEnumerable<Note> EchoAsync(IAsyncEnumerable<Note> notes, CallContext context = default);

    [Operation]
    Task<Stream> DownloadAsync(Note note, CallContext context = default);
}

/// <summary>A contract that the client serves, for callbacks.</summary>
[Service("test.Reader")]
public interface IReader
{
    [Operation]
    Note Ask(Note note);
}

/// <summary>A contract with operations that protobuf-net.Grpc does not bind.</summary>
[Service("test.Several")]
public interface ISeveral
{
    [Operation]
    Task<Note> OneAsync(Note note);

    [Operation]
    Task<Note> TwoAsync(Note first, Note second);

    [Operation]
    Task<Note> UploadAsync(Stream bytes);
}

[ProtoContract]
public sealed class Note
{
    [ProtoMember(1)]
    public string Text { get; set; } = "";
}
