import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Passes what clients send on to a server, and keeps the requests of each operation. */
export type Recorder = AsyncDisposable & {
  /** Where clients send their requests. */
  readonly url: string
  /** `PUT /?operation=NAME` here: what follows belongs to this operation. */
  readonly controlUrl: string
  /** `GET auth/token/lookup-self`, each once, in order. */
  requestsOf(operation: string): readonly string[]
}

const requestLine = /(?:^|\n)([A-Z]+) (\/\S*) HTTP\/1\.1\r\n/g

export async function startRecorder(serverUrl: string): Promise<Recorder> {
  const { hostname, port } = new URL(serverUrl)
  const requests = new Map<string, Set<string>>()
  const sockets = new Set<Socket>()
  let current = ''
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const [socket, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (data) => {
      for (const [, verb = '', target = ''] of data.toString('latin1').matchAll(requestLine)) {
        const known = requests.get(current) ?? new Set()
        requests.set(current, known.add(`${verb} ${shownPath(target)}`))
      }
    })
    client.pipe(upstream).pipe(client)
  })
  const control = createHttpServer((request, response) => {
    current = new URL(request.url ?? '', 'http://control').searchParams.get('operation') ?? ''
    response.end()
  })
  const listeners = [proxy, control]
  const [url = '', controlUrl = ''] = await Promise.all(listeners.map(urlOf))
  return {
    url,
    controlUrl,
    requestsOf: (operation) => [...(requests.get(operation) ?? [])],
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      control.closeAllConnections()
      await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))))
    },
  }
}

async function urlOf(listener: Server): Promise<string> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  // a TCP server that listens has an AddressInfo
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
}

/** Without the base path, and with `:id` for what differs from run to run. */
const shownPath = (target: string): string =>
  target
    .replace(/\?.*/, '')
    .replace(/^\/(v1\/)?/, '')
    .split('/')
    .map((segment) => (isId(segment) ? ':id' : segment))
    .join('/')

const isId = (segment: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(segment) || /^(hv[bs]\.)?[A-Za-z0-9_-]{20,}$/.test(segment)
