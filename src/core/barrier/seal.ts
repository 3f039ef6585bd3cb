import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'
import { isAbsentOrEmpty, makePrivateFile, makePrivateFolder, systemCode } from '../../lib/private-file.ts'

/** Bytes of every key here: seal key, root key, data keys. */
export const keyBytes = 32

/** 32 bytes from hexadecimal or base64 text (padding optional, white space around it ignored); undefined for anything else. */
export function parseSealKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  return undefined
}

/**
 * The key of a file. Throws a StartError (5) if the file is missing, cannot be read, holds none, or is open to others and this is not allowed.
 */
export async function readSealKeyFile(path: string, { allowOpen = false }: { allowOpen?: boolean } = {}): Promise<Buffer> {
  const { text, mode } = await readWithMode(path).catch((cause: unknown) => {
    throw new StartError(5, isMissing(cause) ? `seal key file ${path} is missing` : `seal key file ${path} can not be read: ${systemCode(cause)}`, {
      cause,
    })
  })
  if (mode.open !== 0 && !allowOpen) {
    const remedy = `run chmod 600 ${path}, or set GATEHOUSE_ALLOW_OPEN_KEY_FILE=true`
    throw new StartError(5, `seal key file ${path} is open to others (mode 0${mode.all.toString(8)}): ${remedy}`)
  }
  const key = parseSealKey(text)
  if (key === undefined) throw new StartError(5, `seal key file ${path} does not hold 32 bytes as hex or base64`)
  return key
}

/** The mode is that of the file that was read, whatever has its name a moment later. */
async function readWithMode(path: string): Promise<{ text: string; mode: { all: number; open: number } }> {
  await using file = await open(path, 'r')
  const status = await file.stat()
  return { text: await file.readFile('utf8'), mode: { all: status.mode & 0o777, open: openBits(status, process.getuid?.() ?? status.uid) } }
}

/**
 * The bits of a mode that let others than the service `uid` read or change a file. If the file is root's, the service may read it as a member of its
 * group: that is how secrets are handed to a service.
 */
export function openBits({ mode, uid: owner }: { mode: number; uid: number }, uid: number): number {
  return mode & (owner === 0 && uid !== 0 ? 0o026 : 0o066)
}

/**
 * Makes a key file that only its owner can read: whole or not at all, and durable when this returns. Throws `EEXIST` rather than overwrite;
 * with `replaceEmpty`, an empty file counts as none.
 */
export function makeSealKeyFile(path: string, { replaceEmpty = false }: { replaceEmpty?: boolean } = {}): Buffer {
  const key = randomBytes(keyBytes)
  makePrivateFolder(dirname(path))
  makePrivateFile(path, `${key.toString('hex')}\n`, { suffix: randomBytes(6).toString('hex'), replaceEmpty })
  return key
}

export type SealKeySource = {
  /** GATEHOUSE_SEAL_KEY: counts before the file. */
  text?: string
  file: string
  /** Whether the file may be open to others. */
  allowOpen?: boolean
  /** May a key be made: only for a store that holds nothing at all. */
  storeIsEmpty: boolean
}

/**
 * The seal key at start; `made` when it is new. Never makes a key beside an existing store. Throws a StartError: 2 for a wrong setting, 5 for a key that is
 * missing or damaged. docs/storage.md#seal-key.
 */
export async function loadSealKey({ text, file, allowOpen, storeIsEmpty }: SealKeySource): Promise<{ key: Buffer; made: boolean }> {
  if (text !== undefined) {
    const key = parseSealKey(text)
    if (key === undefined) throw new StartError(2, 'GATEHOUSE_SEAL_KEY must be 32 bytes as hex or base64')
    return { key, made: false }
  }
  if (storeIsEmpty && isAbsentOrEmpty(file)) {
    try {
      // an empty file was left by a start that was killed, or put there to be filled
      return { key: makeSealKeyFile(file, { replaceEmpty: true }), made: true }
    } catch (cause) {
      if (!hasCode(cause, 'EEXIST')) throw new StartError(5, `seal key file ${file} can not be made: ${systemCode(cause)}`, { cause })
    }
  }
  return { key: await readSealKeyFile(file, { allowOpen }), made: false }
}

const hasCode = (cause: unknown, code: string) => typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === code
const isMissing = (cause: unknown) => hasCode(cause, 'ENOENT')
