import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'
import {
  isAbsentOrEmpty,
  makePrivateFile,
  makePrivateFolder,
  systemReason,
} from '../../lib/system/private-file.ts'
import { systemRandom } from '../../lib/system/random.ts'
import { hexBytes, readKey, writeHex } from './key-text.ts'
import { newKey } from './root-key.ts'

/**
 * Parses a seal key: 32 bytes as hexadecimal or base64, with optional padding and surrounding white space. A
 * string remains in memory until the garbage collector has overwritten it.
 */
export function parseSealKey(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Buffer.byteLength(text))
  bytes.write(text)
  const key = sealKeyIn(bytes)
  bytes.fill(0)
  return key
}

/** Likewise, of text that the caller may erase. */
export const sealKeyIn = (text: Uint8Array): Buffer | undefined => readKey(trimmed(text))

/** A key as a line of text, which the caller must erase. */
export function sealKeyLine(key: Uint8Array): Buffer {
  const text = Buffer.alloc(hexBytes + 1, '\n')
  writeHex(key, text)
  return text
}

/** Without white space and a byte order mark around it. */
function trimmed(text: Uint8Array): Uint8Array {
  const hasMark = text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf
  let [start, end] = [hasMark ? 3 : 0, text.length]
  while (isSpace(text[start])) start += 1
  while (end > start && isSpace(text[end - 1])) end -= 1
  return text.subarray(start, end)
}

const isSpace = (byte: number | undefined) => byte === 0x20 || (byte !== undefined && byte >= 9 && byte <= 13)

/**
 * Reads a seal key file. Throws a StartError (5) if it is missing, unreadable or invalid, or open to other
 * users without `allowOpen`.
 */
export async function readSealKeyFile(
  path: string,
  { allowOpen = false }: { allowOpen?: boolean } = {},
): Promise<Buffer> {
  const { key, mode } = await readWithMode(path).catch((cause: unknown) => {
    throw new StartError(
      5,
      isMissing(cause)
        ? `seal key file ${path} is missing`
        : `seal key file ${path} cannot be read: ${systemReason(cause)}`,
      { cause },
    )
  })
  if (mode.open !== 0 && !allowOpen) {
    key?.fill(0)
    const remedy = `run chmod 600 ${path}, or set GATEHOUSE_ALLOW_OPEN_KEY_FILE=true`
    throw new StartError(
      5,
      `seal key file ${path} is open to others (mode 0${mode.all.toString(8)}): ${remedy}`,
    )
  }
  if (key === undefined)
    throw new StartError(5, `seal key file ${path} does not hold 32 bytes as hex or base64`)
  return key
}

const maxFileBytes = 4096

/** Reads key and mode of the same open file, even if its name is reused meanwhile. */
async function readWithMode(
  path: string,
): Promise<{ key: Buffer | undefined; mode: { all: number; open: number } }> {
  await using file = await open(path, 'r')
  const status = await file.stat()
  const mode = { all: status.mode & 0o777, open: openBits(status, process.getuid?.() ?? status.uid) }
  const text = Buffer.alloc(maxFileBytes)
  try {
    let length = 0
    // a pipe may deliver its text in parts
    for (let read = -1; read !== 0 && length < maxFileBytes; length += read)
      read = (await file.read(text, length, maxFileBytes - length)).bytesRead
    return { key: length === maxFileBytes ? undefined : sealKeyIn(text.subarray(0, length)), mode }
  } finally {
    text.fill(0)
  }
}

/**
 * The mode bits that let users other than `uid` read or change a file. Group read is allowed for a file of
 * root, because service managers pass secrets that way.
 */
export function openBits({ mode, uid: owner }: { mode: number; uid: number }, uid: number): number {
  return mode & (owner === 0 && uid !== 0 ? 0o026 : 0o066)
}

/**
 * Creates a key file, atomically and durably, that only its owner can read. Throws `EEXIST` if the file
 * exists; with `replaceEmpty`, replaces an empty file.
 */
export function makeSealKeyFile(
  path: string,
  { replaceEmpty = false }: { replaceEmpty?: boolean } = {},
): Buffer {
  const key = newKey(systemRandom)
  const text = sealKeyLine(key)
  try {
    makePrivateFolder(dirname(path))
    makePrivateFile(path, text, { suffix: randomBytes(6).toString('hex'), replaceEmpty })
    return key
  } finally {
    text.fill(0)
  }
}

export type SealKeySource = {
  /** GATEHOUSE_SEAL_KEY; takes precedence over the file. */
  text?: string
  file: string
  /** Whether the file may be open to other users. */
  allowOpen?: boolean
  /** Whether a missing key may be created: only for an empty store. */
  mayCreate: boolean
}

/**
 * Loads the seal key, or creates one (`made`). Throws a StartError: 2 for an invalid
 * setting, 5 for a missing or damaged key. docs/storage.md#seal-key
 */
export async function loadSealKey({
  text,
  file,
  allowOpen,
  mayCreate,
}: SealKeySource): Promise<{ key: Buffer; made: boolean }> {
  if (text !== undefined) {
    const key = parseSealKey(text)
    if (key === undefined) throw new StartError(2, 'GATEHOUSE_SEAL_KEY must be 32 bytes as hex or base64')
    return { key, made: false }
  }
  if (mayCreate && isAbsentOrEmpty(file)) {
    try {
      // a killed start may have left an empty file
      return { key: makeSealKeyFile(file, { replaceEmpty: true }), made: true }
    } catch (cause) {
      if (!hasCode(cause, 'EEXIST'))
        throw new StartError(5, `seal key file ${file} cannot be created: ${systemReason(cause)}`, { cause })
    }
  }
  return { key: await readSealKeyFile(file, { allowOpen }), made: false }
}

const hasCode = (cause: unknown, code: string) =>
  typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === code
const isMissing = (cause: unknown) => hasCode(cause, 'ENOENT')
