module Outside.FSharp.Program

open System
open System.Collections.Concurrent
open System.Threading.Tasks
open Grpc.Core
open Outside
open Outside.Contract
open RpcOverShm

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

    override _.Import(requestStream, context) =
        task {
            while! requestStream.MoveNext context.CancellationToken do
                notes.Enqueue requestStream.Current

            return Receipt(Count = notes.Count)
        }

    override _.Echo(requestStream, responseStream, context) =
        task {
            while! requestStream.MoveNext context.CancellationToken do
                do! responseStream.WriteAsync requestStream.Current
        }

let serve () =
    task {
        use server = new ShmServer("shm://outside")
        server.Services.Add(Notes.BindService(NotesService()))
        do! server.StartAsync()
        Console.WriteLine "ready"
        let! _ = Console.In.ReadToEndAsync()
        do! server.StopAsync(TimeSpan.FromSeconds 5.0)
    }

let call () =
    task {
        use channel = ShmChannel.ForAddress "shm://outside"
        do! AllShapes.CallAsync(Notes.NotesClient channel)
        Console.WriteLine "The client has seen all answers."
    }

// With "server" a server, which stops at the end of its input; else a client.
[<EntryPoint>]
let main args =
    let running = if args = [| "server" |] then serve () else call ()
    running.GetAwaiter().GetResult()
    0
