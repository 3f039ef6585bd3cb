import { Buffer } from 'node:buffer'
import { openSync, readFileSync, readSync } from 'node:fs'
import Database from 'better-sqlite3'
import { base64Bytes, writeBase64, writeHex } from '../../../src/core/barrier/key-text.ts'
import { firstKeyring } from '../../../src/core/barrier/keyring.ts'
import { keyringKey, openRing, wipe } from '../../../src/core/barrier/keyring-record.ts'
import { newKey, openRootKey, rootKeyKey } from '../../../src/core/barrier/root-key.ts'
import { readSealKeyFile } from '../../../src/core/barrier/seal.ts'
import { machineClock } from '../../../src/lib/system/clock.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { startTestServer } from '../../support/start-server.ts'

// Runs a server and counts the copies of its keys in the memory of this process: while it is open, and after
// it was sealed. Before that, does the same for the text of a keyring that was decrypted and overwritten.
// Arguments: the database, the file of the seal key.
const [path = '', keyFile = ''] = process.argv.slice(2)
const mask = 0x5a
const chunkBytes = 1024 * 1024

/** A text to look for, in a form that the search does not find. */
const hidden = (text: Uint8Array) => {
  const copy = Buffer.from(new ArrayBuffer(text.length))
  for (const [at, byte] of text.entries()) copy[at] = byte ^ mask
  return copy
}

/** The keys that the store has now, hidden. */
async function keysNow(): Promise<Record<string, Buffer>> {
  const database = new Database(path, { readonly: true })
  const stored = (key: string) =>
    database.prepare<[string], Buffer>('SELECT value FROM records WHERE key = ?').pluck().get(key) ??
    Buffer.of()
  const sealKey = await readSealKeyFile(keyFile)
  const hex = Buffer.alloc(64)
  writeHex(sealKey, hex)
  const rootKey = openRootKey(sealKey, { value: stored(rootKeyKey) }) ?? Buffer.of()
  const { terms } = openRing(stored(keyringKey), rootKey)
  const data = terms.at(-1)?.key ?? Buffer.of()
  const keys = { seal: hidden(sealKey), sealText: hidden(hex), root: hidden(rootKey), data: hidden(data) }
  for (const bytes of [sealKey, hex, rootKey]) bytes.fill(0)
  wipe(terms)
  database.close()
  return keys
}

function* memory(): Generator<Buffer> {
  const file = openSync('/proc/self/mem', 'r')
  const chunk = Buffer.from(new ArrayBuffer(chunkBytes))
  for (const [, from = '', to = ''] of readFileSync('/proc/self/maps', 'utf8').matchAll(
    /^([0-9a-f]+)-([0-9a-f]+) rw/gm,
  )) {
    const end = Number.parseInt(to, 16)
    // chunks overlap by the length of the longest text
    for (let at = Number.parseInt(from, 16); at < end; at += chunkBytes - 64) {
      const read = readPart(file, chunk, { at, length: Math.min(chunkBytes, end - at) })
      yield chunk.subarray(0, read)
      chunk.fill(0)
    }
  }
}

/** Some mappings of the kernel cannot be read. */
function readPart(file: number, chunk: Buffer, { at, length }: { at: number; length: number }): number {
  try {
    return readSync(file, chunk, 0, length, at)
  } catch {
    return 0
  }
}

function copies(keys: Record<string, Buffer>): Record<string, number> {
  const counts = Object.fromEntries(Object.keys(keys).map((name) => [name, 0]))
  for (const part of memory())
    for (const [name, key] of Object.entries(keys)) counts[name] = (counts[name] ?? 0) + countIn(part, key)
  return counts
}

function countIn(part: Buffer, key: Buffer): number {
  const start = Buffer.from(key.subarray(0, 4).map((byte) => byte ^ mask))
  let count = 0
  for (let at = part.indexOf(start); at !== -1; at = part.indexOf(start, at + 1))
    if (key.every((byte, index) => part[at + index] === (byte ^ mask))) count += 1
  return count
}

/** A data key in base64, hidden, of a keyring that is decrypted and then overwritten. */
function keyOfKeyring(): Buffer {
  const rootKey = newKey(systemRandom)
  const sealed = firstKeyring({ rootKey, clock: machineClock(), random: systemRandom })
  const { terms } = openRing(sealed, rootKey)
  const base64 = Buffer.from(new ArrayBuffer(base64Bytes))
  for (const { key } of terms) writeBase64(key, base64)
  const key = hidden(base64)
  base64.fill(0)
  wipe(terms)
  return key
}

const keyrings = copies({ first: keyOfKeyring(), second: keyOfKeyring(), third: keyOfKeyring() })
await using server = await startTestServer({
  settings: { STORAGE: `sqlite:${path}`, SEAL_KEY_FILE: keyFile },
})
await server.root.write('sys/rotate')
await server.root.write('sys/rotate/root')
for (let login = 0; login < 20; login += 1)
  await server.root.write('auth/token/create', { policies: ['default'] })
const keys = await keysNow()
const open = copies(keys)
await server.root.call('PUT', 'sys/seal')
process.stdout.write(JSON.stringify({ keyrings, open, sealed: copies(keys) }))
