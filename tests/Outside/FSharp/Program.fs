module Outside.FSharp.Program

open System
open System.Collections.Concurrent
open System.Threading.Tasks
open Grpc.Core
open Microsoft.Extensions.DependencyInjection
open Microsoft.Extensions.Hosting
open Microsoft.Extensions.Logging
open Outside
open Outside.Contract
open RpcOverShm

// snippet: service
type NotesService() =
    inherit Notes.NotesBase()

    let notes = ConcurrentQueue<Note>()

    override _.Add(request, _) =
        notes.Enqueue request
        Task.FromResult(Receipt(Count = notes.Count))

    override _.List(_, responseStream, _) =
        task {
            for note in notes do
                do! responseStream.WriteAsync note
        }
    // end snippet

    // snippet: stream
    override _.Import(requestStream, context) =
        task {
            while! requestStream.MoveNext context.CancellationToken do
                notes.Enqueue requestStream.Current

            return Receipt(Count = notes.Count)
        }
    // end snippet

    override _.Echo(requestStream, responseStream, context) =
        task {
            while! requestStream.MoveNext context.CancellationToken do
                do! responseStream.WriteAsync requestStream.Current
        }

let waitForEndOfInput () =
    Console.WriteLine "ready"
    Console.In.ReadToEnd() |> ignore

let serve () =
    task {
        // snippet: server
        use loggers = LoggerFactory.Create(fun logging -> logging.AddConsole() |> ignore)
        use server = new ShmServer("shm://outside", ShmServerOptions(LoggerFactory = loggers))
        server.Services.Add(Notes.BindService(NotesService()))
        do! server.StartAsync()
        waitForEndOfInput ()
        do! server.StopAsync(TimeSpan.FromSeconds 5.0)
        // end snippet
    }

let serveWithHost () =
    task {
        let builder = Host.CreateApplicationBuilder()
        builder.Logging.ClearProviders() |> ignore

        // snippet: host
        builder.Services
            .AddShmServer("shm://outside")
            .AddService<NotesService>(fun service -> service.Lifetime <- ShmServiceLifetime.Singleton)
            .AddHealth()
            .AddReflection()
        |> ignore

        use host = builder.Build()
        do! host.StartAsync()
        waitForEndOfInput ()
        do! host.StopAsync()
        // end snippet
    }

let call () =
    task {
        // snippet: client
        use channel = ShmChannel.ForAddress "shm://outside"
        do! AllShapes.CallAsync(Notes.NotesClient channel)
        // end snippet
        Console.WriteLine "The client has seen all answers."
    }

let callWithHost () =
    task {
        let builder = Host.CreateApplicationBuilder()
        builder.Services.AddShmClient<Notes.NotesClient>("shm://outside") |> ignore
        use host = builder.Build()
        do! AllShapes.CallAsync(host.Services.GetRequiredService<Notes.NotesClient>())
        Console.WriteLine "The client has seen all answers."
    }

// With "server" a server, which stops at the end of its input; else a client. With "hosted" in the .NET host.
[<EntryPoint>]
let main args =
    let running =
        match args with
        | [| "server" |] -> serve ()
        | [| "server"; "hosted" |] -> serveWithHost ()
        | [| "hosted" |] -> callWithHost ()
        | _ -> call ()

    running.GetAwaiter().GetResult()
    0
