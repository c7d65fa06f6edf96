Imports System.Threading.Tasks
Imports Microsoft.Extensions.DependencyInjection
Imports Microsoft.Extensions.Hosting
Imports Microsoft.Extensions.Logging
Imports Outside.Contract
Imports RpcOverShm

Friend Module Program
    ' With "server" a server, which stops at the end of its input; else a client. With "hosted" in the .NET host.
    Sub Main(args As String())
        Dim running As Task
        Select Case String.Join(" ", args)
            Case "server"
                running = ServeAsync()
            Case "server hosted"
                running = ServeWithHostAsync()
            Case "hosted"
                running = CallWithHostAsync()
            Case Else
                running = CallAsync()
        End Select
        running.GetAwaiter().GetResult()
    End Sub

    Private Sub WaitForEndOfInput()
        System.Console.WriteLine("ready")
        System.Console.In.ReadToEnd()
    End Sub

    Private Async Function ServeAsync() As Task
        ' snippet: server
        Using loggers = LoggerFactory.Create(Sub(logging) logging.AddConsole()),
            server As New ShmServer("shm://outside", New ShmServerOptions With {.LoggerFactory = loggers})
            server.Services.Add(Notes.BindService(New NotesService()))
            Await server.StartAsync()
            WaitForEndOfInput()
            Await server.StopAsync(TimeSpan.FromSeconds(5))
        End Using
        ' end snippet
    End Function

    Private Async Function ServeWithHostAsync() As Task
        Dim builder = Host.CreateApplicationBuilder()
        builder.Logging.ClearProviders()

        ' snippet: host
        builder.Services.
            AddShmServer("shm://outside").
            AddService(Of NotesService)(Sub(service) service.Lifetime = ShmServiceLifetime.Singleton).
            AddHealth().
            AddReflection()

        Using host = builder.Build()
            Await host.StartAsync()
            WaitForEndOfInput()
            Await host.StopAsync()
        End Using
        ' end snippet
    End Function

    Private Async Function CallAsync() As Task
        ' snippet: client
        Using channel = ShmChannel.ForAddress("shm://outside")
            Await AllShapes.CallAsync(New Notes.NotesClient(channel))
        End Using
        ' end snippet
        System.Console.WriteLine("The client has seen all answers.")
    End Function

    Private Async Function CallWithHostAsync() As Task
        Dim builder = Host.CreateApplicationBuilder()
        builder.Services.AddShmClient(Of Notes.NotesClient)("shm://outside")
        Using host = builder.Build()
            Await AllShapes.CallAsync(host.Services.GetRequiredService(Of Notes.NotesClient)())
        End Using
        System.Console.WriteLine("The client has seen all answers.")
    End Function
End Module
