Imports System.Threading.Tasks
Imports Outside.Contract
Imports RpcOverShm

Friend Module Program
    ' With "server" a server, which stops at the end of its input; else a client.
    Sub Main(args As String())
        Dim isServer = args.Length = 1 AndAlso args(0) = "server"
        Dim running = If(isServer, ServeAsync(), CallAsync())
        running.GetAwaiter().GetResult()
    End Sub

    Private Async Function ServeAsync() As Task
        Using server As New ShmServer("shm://outside")
            server.Services.Add(Notes.BindService(New NotesService()))
            Await server.StartAsync()
            Console.WriteLine("ready")
            Await Console.In.ReadToEndAsync()
            Await server.StopAsync(TimeSpan.FromSeconds(5))
        End Using
    End Function

    Private Async Function CallAsync() As Task
        Using channel = ShmChannel.ForAddress("shm://outside")
            Await AllShapes.CallAsync(New Notes.NotesClient(channel))
            Console.WriteLine("The client has seen all answers.")
        End Using
    End Function
End Module
