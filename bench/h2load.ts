import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

/** Of nghttp2: a load generator for HTTP/1.1 and HTTP/2 that costs the same with both. */
export const hasH2load = (): boolean => spawnSync('h2load', ['--version']).error === undefined

type H2load = {
  readonly url: string
  /** A file with the body of every request. */
  readonly bodyFile: string
  readonly connections: number
  /** Requests of each connection at the same time; `http/1.1` has one. */
  readonly streams: number | 'http/1.1'
}

/** Posts for some seconds, and resolves with the rate. Rejects if any response is not 2xx. */
export async function postsPerSecond(
  { url, bodyFile, connections, streams }: H2load,
  seconds: number,
): Promise<number> {
  const protocol = streams === 'http/1.1' ? ['--h1'] : ['-m', String(streams)]
  const args = ['-t', '1', '-c', String(connections), '-D', String(seconds), '-d', bodyFile, ...protocol]
  const { stdout } = await promisify(execFile)('h2load', [...args, url])
  const [, rate] = /^finished in [^,]+, ([\d.]+) req\/s/m.exec(stdout) ?? []
  const isFine = /^status codes: [1-9]\d* 2xx, 0 3xx, 0 4xx, 0 5xx$/m.test(stdout)
  if (rate === undefined || !isFine) throw new Error(`h2load was refused:\n${stdout}`)
  return Number(rate)
}
