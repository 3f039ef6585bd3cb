import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy in front of a database, which can lose what is sent. */
export type CuttingProxy = AsyncDisposable & {
  readonly port: number
  /** Cuts each connection at the next answer of the database, which is lost. */
  loseAnswer(): void
  /** Cuts each connection at the next message to the database, which is lost. */
  loseRequest(): void
  /** Keeps all further answers of the database to itself, until `giveAnswers`. */
  holdAnswers(): void
  giveAnswers(): void
  /** Like a machine that is gone: nothing more is sent on the open connections. New ones work. */
  silence(): void
  /**
   * Ends each new connection as a database does that is told to (57P01), in one piece with the answer that opens
   * it, until `stop`. `ended`: how many it has ended.
   */
  endOpened(): { readonly ended: number; stop(): void }
  /** Cuts all connections, and refuses new ones until `allow`. */
  refuse(): void
  allow(): void
}

/** An ErrorResponse of the database: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const terminated = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
})()

/** Starts a proxy in front of a port of 127.0.0.1. Only connections that send something are cut. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  let losing: 'answer' | 'request' | undefined
  let isHolding = false
  const kept: (() => void)[] = []
  let isRefusing = false
  let ending: { ended: number } | undefined
  const sockets = new Set<Socket>()
  let era = 0
  const server = createServer((client) => {
    if (isRefusing) return void client.destroy()
    const database = connect(target, '127.0.0.1')
    const ownEra = era
    const end = () => {
      client.destroy()
      database.destroy()
    }
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', (data) => {
      if (ownEra !== era) return
      if (losing !== 'request') return void database.write(data)
      losing = undefined
      end()
    })
    database.on('data', (data) => {
      if (ownEra !== era) return
      if (ending !== undefined && data.includes('pg_is_in_recovery')) {
        ending.ended += 1
        client.cork()
        client.write(data)
        return void client.end(terminated)
      }
      if (isHolding) return void kept.push(() => client.write(data))
      if (losing !== 'answer') return void client.write(data)
      losing = undefined
      end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    loseAnswer: () => {
      losing = 'answer'
    },
    loseRequest: () => {
      losing = 'request'
    },
    holdAnswers: () => {
      isHolding = true
    },
    giveAnswers: () => {
      isHolding = false
      for (const give of kept.splice(0)) give()
    },
    silence: () => {
      era += 1
    },
    endOpened: () => {
      const stop = () => {
        ending = undefined
      }
      const own = { ended: 0, stop }
      ending = own
      return own
    },
    refuse: () => {
      isRefusing = true
      for (const socket of sockets) socket.destroy()
    },
    allow: () => {
      isRefusing = false
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
