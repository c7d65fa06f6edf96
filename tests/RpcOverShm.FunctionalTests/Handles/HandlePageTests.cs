using System.IO.Pipes;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.FunctionalTests.Handles;

/// <summary>The code of docs/handles.md.</summary>
[LinuxOnly("Windows passes no handles after the handshake.")]
internal sealed class HandlePageTests : HandleFixture
{
    // snippet: method
    public static async Task<string> RunAsync(string request, ServerCallContext context)
    {
        SafeFileHandle[] handles = await context.TakeHandlesAsync();
        using var output = new AnonymousPipeServerStream(PipeDirection.Out);
        using SafePipeHandle reading = output.ClientSafePipeHandle;
        context.SendHandles(reading); // the client's end; this process closes its own copy

        await using var input = new FileStream(handles[0], FileAccess.Read, bufferSize: 0);
        await input.CopyToAsync(output, context.CancellationToken);
        return "done";
    }
    // end snippet

    [Test]
    public async Task Page_HasCodeThatWorks()
    {
        var service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(Methods.Of(MethodType.Unary), RunAsync).Build();
        (_, ShmChannel channel) = await StartPassingAsync(service: service);
        CallInvoker client = channel.CreateCallInvoker();
        string path = Path.Combine(Directory.CreateTempSubdirectory().FullName, "input");
        await File.WriteAllTextAsync(path, "some input");

        // snippet: call
        using SafeFileHandle file = File.OpenHandle(path);
        using var received = new ShmReceivedHandles();
        CallOptions options = new CallOptions().WithHandles(received, file);
        await client.AsyncUnaryCall(Methods.Of(MethodType.Unary), null, options, "copy");

        SafeFileHandle output = (await received.TakeAsync())[0];
        using var reader = new StreamReader(new FileStream(output, FileAccess.Read, bufferSize: 0));
        string text = await reader.ReadToEndAsync();
        // end snippet

        Assert.That(text, Is.EqualTo("some input"));
        Directory.Delete(Path.GetDirectoryName(path)!, recursive: true);
    }

    // snippet: socket
    public static Socket ToSocket(SafeFileHandle handle)
    {
        var own = new SafeSocketHandle(handle.DangerousGetHandle(), ownsHandle: true);
        handle.SetHandleAsInvalid(); // The socket owns it now.
        return new Socket(own);
    }
    // end snippet
}
