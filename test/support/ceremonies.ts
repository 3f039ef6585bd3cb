import { decrypt, generateKey, type PrivateKey, readMessage } from 'openpgp'
import type { Answer, Client, Json } from './client.ts'

/** The texts of a JSON list. */
export const textsOf = (list: Json | undefined): string[] => Object.values(list ?? {}).map(String)

/** Offers shares to a ceremony, one by one, and returns the last answer. */
export async function offer(
  client: Client,
  path: string,
  nonce: unknown,
  keys: readonly string[],
): Promise<Answer> {
  const answers: Answer[] = []
  for (const key of keys) answers.push(await client.call('PUT', path, { nonce, key }))
  const last = answers.at(-1)
  if (last === undefined) throw new Error('there is no share to offer')
  return last
}

/** Decodes the token of `sys/generate-root`. */
export function unhidden(encoded: unknown, otp: unknown): string {
  const pad = Buffer.from(String(otp))
  const hidden = Buffer.from(String(encoded), 'base64')
  return Buffer.from(hidden.map((byte, at) => byte ^ (pad[at] ?? 0))).toString()
}

/** A person with a PGP key; `text` is the public key as clients send it. */
export async function aPgpHolder(): Promise<{ privateKey: PrivateKey; fingerprint: string; text: string }> {
  const date = new Date(Date.now() - 60_000)
  const { privateKey } = await generateKey({ userIDs: [{ name: 'holder' }], date, format: 'object' })
  const text = Buffer.from(privateKey.toPublic().write()).toString('base64')
  return { privateKey, fingerprint: privateKey.getFingerprint(), text }
}

/** What a PGP message in base64 says to its reader. */
export async function openedBy(privateKey: PrivateKey, message: string): Promise<string> {
  const read = await readMessage({ binaryMessage: Buffer.from(message, 'base64') })
  const { data } = await decrypt({ message: read, decryptionKeys: privateKey, format: 'binary' })
  return Buffer.from(data).toString()
}
