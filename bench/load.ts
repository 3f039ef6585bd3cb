import { connect, type Socket } from 'node:net'

/**
 * Work for the load generator. Closed loop: each connection sends its next request when the response to the
 * previous one has arrived. Requests are built before the clock starts; of responses only the length is
 * parsed.
 */
export type LoadJob = {
  port: number
  connections: number
  /** The job ends after this many milliseconds … */
  forMs: number
  method: string
  path: string
  /** The differences between the requests; variants are sent in turn. */
  variants: Variant[]
  /** … or, if true, when each variant was sent once. */
  once: boolean
  /** The rate of all connections together; as fast as possible without it. */
  perSecond?: number
  /** The loopback address that the connections come from; the system's choice without it. */
  from?: string
}

/** `namespace` is sent as a header. `method` and `path` replace those of the job. wrk does not do these, nor `headers`. */
export type Variant = {
  token?: string
  body?: string
  ifNoneMatch?: string
  namespace?: string
  method?: string
  path?: string
  headers?: Record<string, string>
}

export type LoadResult = {
  requests: number
  seconds: number
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** Number of responses other than 2xx and 304, by status; 0 stands for a broken connection. */
  failures: Record<string, number>
}

/** Runs one job. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const requests = buildRequests(job)
  const latencies: number[] = []
  const failures: Record<string, number> = {}
  const startedAt = performance.now()
  const endsAt = startedAt + job.forMs
  let next = 0
  const takeRequest = (at: number): Buffer | undefined => {
    if (at >= endsAt || (job.once && next >= requests.length)) return undefined
    return requests[next++ % requests.length]
  }
  const record = (latencyMs: number, status: number) => {
    latencies.push(latencyMs)
    if ((status < 200 || status > 299) && status !== 304) failures[status] = (failures[status] ?? 0) + 1
  }
  const paceMs = job.perSecond === undefined ? 0 : (1000 * job.connections) / job.perSecond
  await Promise.all(
    Array.from({ length: job.connections }, () => runConnection(job, paceMs, { takeRequest, record })),
  )
  return { ...summarise(latencies), seconds: (performance.now() - startedAt) / 1000, failures }
}

function buildRequests({ method, path, port, variants }: LoadJob): Buffer[] {
  return variants.map(({ token, body, ifNoneMatch, namespace, headers = {}, ...own }) => {
    const head = [`${own.method ?? method} ${own.path ?? path} HTTP/1.1`, `host: 127.0.0.1:${port}`]
    for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`)
    if (token !== undefined) head.push(`x-vault-token: ${token}`)
    if (namespace !== undefined) head.push(`x-vault-namespace: ${namespace}`)
    if (ifNoneMatch !== undefined) head.push(`if-none-match: ${ifNoneMatch}`)
    if (body !== undefined)
      head.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
    return Buffer.from([...head, '', body ?? ''].join('\r\n'))
  })
}

function summarise(latencies: number[]): Omit<LoadResult, 'seconds' | 'failures'> {
  const sorted = Float64Array.from(latencies).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { requests: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

type Work = { takeRequest(at: number): Buffer | undefined; record(latencyMs: number, status: number): void }

/** `paceMs`: the shortest time from one request to the next. */
function runConnection(
  { port, from }: Pick<LoadJob, 'port' | 'from'>,
  paceMs: number,
  { takeRequest, record }: Work,
): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0
    let status = 0
    // missing bytes of the current response; -1 before its head, unlimited for chunks
    let missing = -1
    let tail = ''
    const send = (socket: Socket, at: number) => {
      const request = takeRequest(at)
      if (request === undefined) return socket.destroy()
      sentAt = at
      missing = -1
      socket.write(request)
    }
    const read = (length: number, buffer: Uint8Array): boolean => {
      let bodyAt = 0
      if (missing === -1) {
        // the buffer handed to connect() below
        const text = (buffer as Buffer).toString('latin1', 0, Math.min(length, 2048))
        status = Number(text.slice(9, 12))
        missing = wholeLength(text, status)
        bodyAt = text.indexOf('\r\n\r\n') + 4
        tail = ''
      }
      missing -= length
      if (missing === Number.POSITIVE_INFINITY) {
        tail = (tail + (buffer as Buffer).toString('latin1', Math.max(bodyAt, length - 5), length)).slice(-5)
        if (tail === lastChunk) missing = 0
      }
      if (missing === 0) {
        const at = performance.now()
        record(at - sentAt, status)
        const pauseMs = sentAt + paceMs - at
        if (pauseMs > 0) setTimeout(() => send(socket, performance.now()), pauseMs)
        else send(socket, at)
      }
      return true
    }
    const socket = connect({
      port,
      host: '127.0.0.1',
      ...(from === undefined ? {} : { localAddress: from }),
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(65_536), callback: read },
    })
    socket.on('connect', () => send(socket, performance.now()))
    socket.on('error', () => record(0, 0))
    socket.on('close', () => resolve())
    // the server closed the connection: record a failure
    socket.on('end', () => record(0, 0))
  })
}

const lengthHeader = /\r\ncontent-length: (\d+)\r\n/i
const chunkedHeader = /\r\ntransfer-encoding: chunked\r\n/i
/** No chunk of JSON ends like this: it has no line breaks. */
const lastChunk = '0\r\n\r\n'

/**
 * Length of head and body together, in bytes; infinite for a body in chunks. Assumes that a head arrives in one
 * piece, as on loopback. Throws for a response without either.
 */
function wholeLength(head: string, status: number): number {
  const headEnd = head.indexOf('\r\n\r\n')
  if (status === 204 || status === 304) return headEnd + 4
  if (chunkedHeader.test(head)) return Number.POSITIVE_INFINITY
  const body = lengthHeader.exec(head)?.[1]
  if (body === undefined || headEnd === -1)
    throw new Error(`the load generator cannot read this answer: ${head.slice(0, 300)}`)
  return headEnd + 4 + Number(body)
}
