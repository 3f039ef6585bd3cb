import { rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** What has started, and where it is, as JSON. */
type Started = AsyncDisposable & { readonly place: object }

/** A socket of what all projects of a run share: it starts when the first file asks where it is. */
export class Doorbell {
  readonly #path: string
  readonly #server
  #opened: Promise<string> | undefined
  #started: Promise<Started> | undefined
  #users = 0

  constructor(name: string, start: () => Promise<Started>) {
    this.#path = join(tmpdir(), `gatehouse-tests-${name}-${process.pid}.sock`)
    this.#server = createServer((socket) => {
      this.#started ??= start()
      this.#started.then(
        ({ place }) => socket.end(JSON.stringify(place)),
        (error: unknown) => {
          // the next file that asks tries again
          this.#started = undefined
          process.stderr.write(`${name} did not start: ${String(error)}\n`)
          socket.end(JSON.stringify({ error: String(error) }))
        },
      )
    })
  }

  /** For each project. Resolves with the path of the socket. */
  open(): Promise<string> {
    this.#users += 1
    this.#opened ??= this.#listen()
    return this.#opened
  }

  async #listen(): Promise<string> {
    await rm(this.#path, { force: true })
    await new Promise<void>((resolve) => this.#server.listen(this.#path, resolve))
    return this.#path
  }

  /** Stops what has started, once the last project leaves. */
  async leave(): Promise<void> {
    this.#users -= 1
    if (this.#users > 0) return
    this.#server.close()
    const started = await this.#started?.catch(() => undefined)
    await started?.[Symbol.asyncDispose]()
  }
}

/** Asks at a doorbell where something is, which starts it if nobody has asked before. */
export async function placeOf<Place extends object>(path: string): Promise<Place> {
  const answer = JSON.parse(await text(connect(path))) as Place | { readonly error: string }
  if ('error' in answer) throw new Error(answer.error)
  return answer
}
