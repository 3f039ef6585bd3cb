import { brotliDecompress, gunzip, inflate, type Zlib } from 'node:zlib'
import { quoted } from '../../lib/text/go-text.ts'

/** With the option `info`, these return the engine too. */
type Decoder = (
  body: Buffer,
  options: { maxOutputLength: number; info: true },
  done: (error: Error | null, result: unknown) => void,
) => void

const decoders: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gunzip],
  ['deflate', inflate],
  ['br', brotliDecompress],
])

/** Nobody has a reason for more. */
const maxLayers = 2

/**
 * The encodings of a `Content-Encoding`, the last one applied first. Throws for one that is not decoded here: some
 * services compress although no request asks for that. docs/contract/jwt.md#limits
 */
export function encodingsIn(header: string): string[] {
  const named = header.split(',').map((name) => name.trim().toLowerCase().replace(/^x-/, ''))
  const encodings = named.filter((name) => name !== '' && name !== 'identity').reverse()
  if (encodings.length > maxLayers || !encodings.every((name) => decoders.has(name)))
    throw new Error(`unsupported content encoding ${quoted(header.trim())}`)
  return encodings
}

/** Takes one encoding off. Undefined if more than `maxBytes` come out. Throws for a body that does not have it. */
export function decode(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((settle, reject) => {
    decoders.get(encoding)?.(body, { maxOutputLength: maxBytes, info: true }, (error, result) => {
      // the result is that of `info`
      const { buffer, engine } = (result ?? {}) as { buffer?: Buffer; engine?: Zlib }
      if (error !== null && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') settle(undefined)
      else if (buffer === undefined || engine?.bytesWritten !== body.length)
        reject(new Error(`cannot decode ${encoding}`, { cause: error }))
      else settle(buffer)
    })
  })
}
